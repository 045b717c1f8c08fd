// How many threads the BLAS library uses of its own.
#pragma once

namespace culprit {

// One, for the rest of the process: ranks are threads already, and a second level of threads would
// only fight them. Called before any matrix product. Thread-safe.
void use_one_blas_thread();

}  // namespace culprit
