# The one place for compiler flags: every target links culprit_flags, nothing is set globally.
add_library(culprit_flags INTERFACE)
target_compile_features(culprit_flags INTERFACE cxx_std_20)
target_include_directories(culprit_flags INTERFACE ${PROJECT_SOURCE_DIR}/src)
# -Wno-restrict: g++ 12 warns falsely on std::string concatenation at -O2 and above (GCC bug 105651).
target_compile_options(
  culprit_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wconversion;-Wno-sign-conversion>
                          $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict>
                          # CMake 3.25 knows no C++20 for nvcc 13, but nvcc does.
                          $<$<COMPILE_LANGUAGE:CUDA>:-std=c++20>
                          $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${CULPRIT_WERROR}>>:-Werror>)
if(CULPRIT_SANITIZE)
  if(CULPRIT_SANITIZE MATCHES "thread" AND CULPRIT_SANITIZE MATCHES "address")
    message(FATAL_ERROR "CULPRIT_SANITIZE: thread and address sanitizers exclude each other")
  endif()
  target_compile_options(culprit_flags INTERFACE -fsanitize=${CULPRIT_SANITIZE} -fno-omit-frame-pointer
                                                 -fno-sanitize-recover=all)
  target_link_options(culprit_flags INTERFACE -fsanitize=${CULPRIT_SANITIZE})
endif()
