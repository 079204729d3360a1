import { fieldManager } from '../api/names.ts';
import { TargetClients } from '../controllers/shared/target-clients.ts';
import { ProviderError } from '../lib/errors.ts';
import { type AccessCommandContext, type AccessSession, withAccessSession } from './access/access-session.ts';
import { describeCaller, findCaller, recordOnCluster } from './access/record-issue.ts';
import { assessAdoption } from './adopt/assess-adoption.ts';
import { describeAdoption } from './adopt/describe-adoption.ts';
import { findConflicts } from './adopt/find-conflicts.ts';
import { findAdoptionTarget } from './adopt/find-target.ts';
import { inspectCluster } from './adopt/inspect-cluster.ts';
import { readBundleFile } from './adopt/read-bundle.ts';
import { type Adoption, writeAdoption } from './adopt/write-adoption.ts';
import type { AdoptSettings } from './flags/access-settings.ts';

/** Some thousand nodes, sixteen at a time. */
const timeoutSeconds = 600;

/**
 * Puts a Talos cluster that others have made under a Cluster: stores its secrets, and creates a Machine for each node.
 * The nodes are only read. Nothing is created without `--confirm`, and nothing while there is an obstacle.
 */
export async function runAdopt(options: AdoptSettings & AccessCommandContext): Promise<void> {
  const bundle = await readBundleFile(options.secrets);
  await withAccessSession({ ...options, timeoutSeconds }, async (session) => {
    const adoption = await prepareAdoption(session, options, bundle);
    options.print(describeAdoption(adoption));
    if (!options.confirm) {
      options.print('If that is right, repeat the command with --confirm.');
      return;
    }
    await writeAdoption(session, adoption, (text) => options.print(`created ${text}`));
    const { cluster } = adoption.target;
    const message = `${describeCaller(await findCaller(session))} adopted ${adoption.found.nodes.length} nodes at ${adoption.found.endpoint}.`;
    await recordOnCluster(session, cluster, { reason: 'Adopted', message });
    options.print(`Adopted Cluster ${cluster.metadata.namespace}/${cluster.metadata.name}.`);
  });
}

/** Throws ADOPTION_REJECTED with all obstacles. */
async function prepareAdoption(
  session: AccessSession,
  options: AdoptSettings,
  bundle: Adoption['bundle'],
): Promise<Adoption> {
  const { clock, log, signal } = session;
  const target = await findAdoptionTarget(session, options.cluster);
  const clients = new TargetClients({ secrets: () => undefined, clock, log, fieldManager });
  try {
    const assessed = assessAdoption(await inspectCluster(clients, bundle, options, signal));
    if ('obstacles' in assessed) throw rejected(assessed.obstacles);
    const { cluster: found } = assessed;
    const conflicts = await findConflicts(session, target, bundle, found.nodes);
    if (conflicts.length > 0) throw rejected(conflicts);
    return { target, bundle, found };
  } finally {
    await clients.close();
  }
}

/** A cluster of thousands of nodes may have one for each. */
const maxNamed = 20;

function rejected(obstacles: readonly string[]): ProviderError {
  const more = obstacles.length > maxNamed ? [`And ${obstacles.length - maxNamed} more.`] : [];
  return new ProviderError('ADOPTION_REJECTED', [...obstacles.slice(0, maxNamed), ...more].join(' '));
}
