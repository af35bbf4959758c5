/* Comes after next_first in the search order. */
int chained(int depth);
int chained(int depth)
{
    return 1000 + depth;
}
