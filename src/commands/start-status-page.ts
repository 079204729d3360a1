import type { FastifyInstance } from 'fastify';
import { AddressLeases } from '../controllers/shared/addresses/address-leases.ts';
import type { Services, Stores } from '../controllers/shared/services.ts';
import type { KubeClient } from '../kube/client/client.ts';
import { systemClock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import { platforms } from '../platforms/index.ts';
import { listen } from '../server/listen.ts';
import { loadServingCertificate } from '../server/serving-certificate.ts';
import type { ServerProtection } from '../server/token-authorizer.ts';
import { TokenAuthorizer } from '../server/token-authorizer.ts';
import { loadPageFiles } from '../status/page/build-page.mjs';
import { isLoopback } from '../status/server/access.ts';
import { ChangeSignal } from '../status/server/change-signal.ts';
import { EventReader } from '../status/server/event-reader.ts';
import { EventStreams } from '../status/server/event-streams.ts';
import { FleetMeasurements } from '../status/server/fleet-measurements.ts';
import { readSystems } from '../status/server/read-systems.ts';
import { createStatusServer } from '../status/server/status-server.ts';
import { ViewRouter } from '../status/server/view-router.ts';
import { StepHistory } from '../status/step-history.ts';
import type { StatusSources } from '../status/views/status-sources.ts';
import type { RunSettings, StatusPageSettings } from './flags/operator-settings.ts';

interface StatusPageOptions extends Pick<RunSettings, 'environment' | 'podNamespace' | 'providerName'> {
  readonly settings: StatusPageSettings;
  readonly log: Log;
}

/** The status page of one process. Every process serves it; the leader alone can read the systems of platforms. */
export class StatusPage {
  readonly #app: FastifyInstance;
  readonly measurements: FleetMeasurements;
  readonly #end: AbortController;
  readonly #changes: ChangeSignal;
  #isLeader = false;

  private constructor(
    options: StatusPageOptions,
    { kube, stores }: { kube: KubeClient; stores: Stores },
    server: Pick<Parameters<typeof createStatusServer>[0], 'files' | 'protection'>,
  ) {
    const { environment, providerName: provider, podNamespace: namespace, log } = options;
    this.#end = new AbortController();
    const { signal } = this.#end;
    const changes = new ChangeSignal();
    this.#changes = changes;
    const history = new StepHistory();
    stores.machines.onChange((change) => history.observe(change), { replay: true });
    const { secrets: _, accessSecrets: __, ...shown } = stores;
    for (const store of Object.values(shown)) store.onChange(({ kind }) => kind !== 'resync' && changes.notify());
    const leases = new AddressLeases(kube, namespace, provider);
    const measurements = new FleetMeasurements(
      { heldAddresses: async (within) => new Set((await leases.list(within)).keys()) },
      { clock: systemClock, log, changed: () => changes.notify(), signal },
    );
    this.measurements = measurements;
    const sources = (): StatusSources => ({
      ...{ environment, provider, namespace, stores: shown, platforms, history },
      measurements: measurements.current,
      isLeader: this.#isLeader,
      isComplete: Object.values(shown).every((store) => store.isSynced),
    });
    const events = new EventReader(kube, systemClock);
    const router = new ViewRouter({ sources, events, changes, measurements, clock: systemClock });
    this.#app = createStatusServer({ router, streams: new EventStreams(changes, systemClock, signal), ...server });
  }

  /** Starts to listen. Rejects when the address is taken or a certificate cannot be read. */
  static async start(options: StatusPageOptions, parts: { kube: KubeClient; stores: Stores }): Promise<StatusPage> {
    const { settings, log } = options;
    const [files, protection] = await Promise.all([loadPageFiles(), protect(settings, { ...parts, log })]);
    const page = new StatusPage(options, parts, { files, protection });
    log.info({ url: await listen(page.#app, settings.address) }, 'serving the status page');
    return page;
  }

  /** This process leads until the signal aborts. */
  lead(services: Services, signal: AbortSignal): void {
    this.#isLeader = true;
    this.measurements.useSystems((within) => readSystems(services, within));
    signal.addEventListener('abort', () => {
      this.#isLeader = false;
      this.measurements.useSystems(undefined);
    });
  }

  async close(): Promise<void> {
    this.#end.abort();
    this.#changes.notify();
    await this.#app.close();
  }
}

/** Only a page that this machine alone can reach is served without TLS and authorization. */
async function protect(
  { address, folder }: StatusPageSettings,
  { kube, log }: { kube: KubeClient; log: Log },
): Promise<ServerProtection | undefined> {
  if (isLoopback(address.host)) return undefined;
  const tls = await loadServingCertificate(folder ? { path: folder } : {}, new Date());
  return { tls, access: new TokenAuthorizer({ client: kube, clock: systemClock, log, served: 'the status page' }) };
}
