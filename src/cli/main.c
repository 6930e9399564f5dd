/* main.c - the program weft. Everything it can do is a row of command.h. */
#include "cli/command.h"

int main(int argc, char **argv)
{
    (void)argc; /* argv ends with NULL. */
    return command_main(argv);
}
