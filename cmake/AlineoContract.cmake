# SPDX-License-Identifier: Apache-2.0
# alineo_add_contract_test(KIND provider|storage|credentials CONFIG <file> [NAME <test>] [FILTER <glob>])
#
# Registers the suite of that kind as a test, run on what CONFIG names. A relative CONFIG is taken from the current source
# folder. The default name is contract.<kind>.<name of the file>.
function(alineo_add_contract_test)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "KIND;CONFIG;NAME;FILTER" "")
    if(NOT arg_KIND MATCHES "^(provider|storage|credentials)$")
        message(FATAL_ERROR "alineo_add_contract_test: KIND is \"${arg_KIND}\"; it may be provider, storage or credentials")
    endif()
    get_filename_component(config "${arg_CONFIG}" ABSOLUTE)
    get_filename_component(stem "${arg_CONFIG}" NAME_WE)
    set(name "contract.${arg_KIND}.${stem}")
    if(arg_NAME)
        set(name "${arg_NAME}")
    endif()
    set(filter "")
    if(arg_FILTER)
        set(filter --filter "${arg_FILTER}")
    endif()
    add_test(NAME ${name} COMMAND "${ALINEO_CONTRACT_PROGRAM}" ${arg_KIND} --config "${config}" ${filter})
    set_tests_properties(${name} PROPERTIES LABELS "contract" TIMEOUT 600)
endfunction()
