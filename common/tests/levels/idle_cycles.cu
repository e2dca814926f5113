// TC_UTIL_PERCENT=85 idles 45 cycles per K block, as the author's notes say; compiled is tested.
#define TC_UTIL_PERCENT 85
#include "level08_deep_pipeline/kernel_sm100.cuh"
static_assert(level08::Config::IDLE_CYCLES == 45);
int main() {}
