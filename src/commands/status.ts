import { systemClock } from '../lib/clock.ts';
import { buildOverview, type OverviewJson } from '../status/views/fleet-overview.ts';
import type { StatusSettings } from './flags/status-settings.ts';
import { formatStatus } from './output/status-table.ts';
import { formatStructured } from './output/structured-output.ts';
import { listFleet } from './read-only/list-fleet.ts';
import { openKubeClient } from './read-only/open-kube-client.ts';
import type { ReadOnlyCommandContext } from './read-only/read-only-session.ts';

/** A user waits for it. */
const timeoutSeconds = 120;

/** Prints every Cluster with its state. Returns whether all is well, as far as the exit code is to tell. */
export async function runStatus(options: StatusSettings & ReadOnlyCommandContext): Promise<boolean> {
  const kube = openKubeClient(options);
  try {
    const signal = AbortSignal.any([options.signal, AbortSignal.timeout(timeoutSeconds * 1000)]);
    const overview = buildOverview(await listFleet(kube, options.namespace, signal));
    options.print(formatOverview(overview, options.output));
    return !options.exitCode || overview.clusters.every(({ health }) => isReadyHealth.has(health));
  } finally {
    await kube.close();
  }
}

/** `attention` is ready, too. */
const isReadyHealth: ReadonlySet<string> = new Set(['ready', 'attention']);

const formatOverview = (overview: OverviewJson, output: StatusSettings['output']): string =>
  output === 'table' ? formatStatus(overview, systemClock.now()).join('\n') : formatStructured(overview, output);
