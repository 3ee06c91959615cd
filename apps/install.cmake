# Installed by `make install`: foretoken, and the manual pages and completions that it generates.
include(GNUInstallDirs)
install(TARGETS foretoken RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

set(described ${CMAKE_CURRENT_BINARY_DIR}/described)
install(CODE "file(MAKE_DIRECTORY ${described})")
# ft_install_described(FILE FOLDER ARGUMENT...): installs in FOLDER a FILE that `foretoken ARGUMENT...` prints
function(ft_install_described file folder)
  install(CODE "execute_process(COMMAND $<TARGET_FILE:foretoken> ${ARGN} OUTPUT_FILE ${described}/${file}
    COMMAND_ERROR_IS_FATAL ANY)")
  install(FILES ${described}/${file} DESTINATION ${CMAKE_INSTALL_DATADIR}/${folder})
endfunction()

ft_install_described(foretoken.1 man/man1 man)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS commands.def)
file(STRINGS commands.def command_lines REGEX "^FT_COMMAND")
foreach(line ${command_lines})
  string(REGEX REPLACE "^FT_COMMAND\\(([a-z0-9_]+).*" "\\1" command "${line}")
  string(REPLACE _ - command ${command})
  ft_install_described(foretoken-${command}.1 man/man1 man ${command})
endforeach()
ft_install_described(foretoken bash-completion/completions completion bash)
ft_install_described(_foretoken zsh/site-functions completion zsh)
ft_install_described(foretoken.fish fish/vendor_completions.d completion fish)
