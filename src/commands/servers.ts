import type { FastifyInstance } from 'fastify';
import type { Stores } from '../controllers/services.ts';
import type { KubeClient } from '../kube/client.ts';
import type { Leadership } from '../kube/lease.ts';
import { systemClock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import { servingCertificate } from '../server/certificate.ts';
import { healthApp, leaseKnown, reflectorAlive, reflectorSynced } from '../server/health.ts';
import { type BindAddress, listen } from '../server/listen.ts';
import { type Metrics, metricsApp } from '../server/metrics.ts';
import { PathAccess } from '../server/path-access.ts';
import type { RunSettings } from './flags.ts';

/** Starts what probes and scrapers talk to, as far as it was asked for. Returns how to end it. */
export async function startServers(
  settings: Pick<RunSettings, 'health' | 'metrics'>,
  parts: { kube: KubeClient; stores: Stores; leadership: Leadership; metrics: Metrics; log: Log },
): Promise<() => Promise<void>> {
  const { kube, stores, leadership, metrics, log } = parts;
  const reflectors = Object.values(stores);
  const apps: FastifyInstance[] = [];
  if (settings.health) {
    const ready = [...reflectors.map(reflectorSynced), leaseKnown(leadership)];
    const app = healthApp({ live: reflectors.map((reflector) => reflectorAlive(reflector)), ready });
    apps.push(await serve(app, settings.health, log, 'probes are served'));
  }
  if (settings.metrics) {
    for (const reflector of reflectors) metrics.show(reflector);
    metrics.showLease('leader', leadership);
    const tls = await certificateOf(settings.metrics);
    const access = new PathAccess({ client: kube, clock: systemClock, log });
    const app = metricsApp(metrics.registry, tls && { tls, access });
    apps.push(await serve(app, settings.metrics.address, log, 'metrics are served'));
  }
  return async () => void (await Promise.allSettled(apps.map((app) => app.close())));
}

async function serve(app: FastifyInstance, address: BindAddress, log: Log, message: string): Promise<FastifyInstance> {
  log.info({ url: await listen(app, address) }, message);
  return app;
}

async function certificateOf(
  settings: NonNullable<RunSettings['metrics']>,
): Promise<{ cert: string; key: string } | undefined> {
  if (!settings.secure) return undefined;
  const { folder: path, certFile: certName, keyFile: keyName } = settings.certificate ?? {};
  return await servingCertificate(
    path ? { path, ...(certName && { certName }), ...(keyName && { keyName }) } : {},
    new Date(),
  );
}
