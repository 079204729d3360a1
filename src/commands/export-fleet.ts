import { listTokenExpiries } from '../controllers/access-request/list-token-expiries.ts';
import type { Services } from '../controllers/shared/services.ts';
import type { Metrics } from '../server/metrics.ts';
import { listFleetSamples } from '../status/metrics/fleet-samples.ts';
import { FleetMeasurements } from '../status/server/fleet-measurements.ts';
import { readSystems } from '../status/server/read-systems.ts';

/**
 * Systems are read at most this often because of scrapes, in the background, and not at all without a scraper. Machines
 * and addresses are counted from the caches at every scrape.
 */
const measureSeconds = 600;

/**
 * Exports the state of the fleet while this process leads. `shared`: the measurements of the status page, so that nothing is
 * read twice.
 */
export function exportFleet(
  services: Services,
  {
    metrics,
    leadership,
    shared,
  }: { readonly metrics: Metrics; readonly leadership: AbortSignal; readonly shared: FleetMeasurements | undefined },
): void {
  const { secrets: _, accessSecrets: __, ...stores } = services.stores;
  const measurements = shared ?? measureFleet(services, leadership);
  metrics.setFleet(() => {
    // Half a list would look like a fleet that has shrunk.
    if (leadership.aborted || !Object.values(services.stores).every((store) => store.isSynced)) return {};
    measurements.refresh(measureSeconds);
    const sources = { ...services, stores, measurements: measurements.current };
    return listFleetSamples(sources, { now: services.clock.now(), tokenExpiries: listTokenExpiries(services) });
  });
}

function measureFleet(services: Services, signal: AbortSignal): FleetMeasurements {
  const { addresses, clock, log } = services;
  const sources = {
    heldAddresses: async (within: AbortSignal) => new Set((await addresses.list(within)).keys()),
    systems: (within: AbortSignal) => readSystems(services, within),
  };
  return new FleetMeasurements(sources, { clock, log, changed: () => {}, signal });
}
