/* words: counts the words of its standard input. */
#include <ctype.h>
#include <stdio.h>

int main(void)
{
    unsigned long count = 0;
    int inside = 0, c;

    while ((c = getchar()) != EOF) {
        int word = !isspace(c);
        count += word && !inside;
        inside = word;
    }
    printf("%lu\n", count);
    return 0;
}
