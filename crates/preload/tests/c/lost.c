/* A bulk copy that cannot be made in any way: the software GPU refuses every call of the drop-in about it. Natively
 * there is no such call, and every code is 0. Under the drop-in the copy's bytes are missing, so every call that would
 * return success returns 719 instead. */
#define _DEFAULT_SOURCE
#include "client.h"

static void refuse_event_queries(void)
{
    char faults[4096] = "";
    for (int i = 1; i <= 100; i++)
        snprintf(faults + strlen(faults), sizeof faults - strlen(faults), "cuEventQuery:%d=2;", i);
    REQUIRE(setenv("OVERTAKE_SOFT_FAULTS", faults, 1) == 0);
}

int main(void)
{
    refuse_event_queries();
    open_device();
    Traffic traffic = new_traffic();
    CUevent event = NULL;
    static _Alignas(4096) unsigned char registered[4096];
    OK(cuMemHostRegister(registered, sizeof registered, 0));
    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    OK(cuEventRecord(event, traffic.urgent));
    OK(cuMemcpyHtoDAsync(traffic.small_device, traffic.small_in, TRAFFIC_SMALL, traffic.urgent));
    OK(cuStreamSynchronize(traffic.urgent));
    Gate gate = new_gate();
    hold(gate, traffic.bulk);
    OK(cuMemcpyHtoDAsync(traffic.device, traffic.in, TRAFFIC_BULK, traffic.bulk));
    nap_us(500000);
    store_word(gate.word, 1);
    CODE(cuStreamSynchronize(traffic.bulk));
    CODE(cuStreamQuery(traffic.bulk));
    CODE(cuEventSynchronize(event));
    CODE(cuCtxSynchronize());
    CODE(cuMemcpyHtoDAsync(traffic.small_device, traffic.small_in, TRAFFIC_SMALL, traffic.urgent));
    CODE(cuMemcpyDtoH(traffic.small_out, traffic.small_device, TRAFFIC_SMALL));
    CODE(cuMemFree(traffic.small_device));
    CODE(cuMemFreeAsync(traffic.device, traffic.bulk));
    CODE(cuMemHostUnregister(registered));
    CODE(cuMemFreeHost(traffic.small_in));
    return 0;
}
