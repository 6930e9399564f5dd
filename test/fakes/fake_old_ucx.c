/* A UCX that is too old. It has nothing but its version, which is asked for first. */
__attribute__((visibility("default"))) void ucp_get_version(
    unsigned *major, unsigned *minor, unsigned *release);

void ucp_get_version(unsigned *major, unsigned *minor, unsigned *release)
{
    *major = 1;
    *minor = 13;
    *release = 1;
}
