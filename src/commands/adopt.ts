import { fieldManager } from '../api/names.ts';
import { TargetClients } from '../controllers/shared/target-clients.ts';
import { ProviderError } from '../lib/errors.ts';
import { type AccessCommandContext, type AccessSession, withAccessSession } from './access/access-session.ts';
import { describeCaller, findCaller, recordOnCluster } from './access/record-issue.ts';
import { assessAdoption } from './adopt/assess-adoption.ts';
import { describeAdoption, toAdoptOutput } from './adopt/describe-adoption.ts';
import { findConflicts } from './adopt/find-conflicts.ts';
import { findAdoptionTarget } from './adopt/find-target.ts';
import { inspectCluster } from './adopt/inspect-cluster.ts';
import { readBundleFile } from './adopt/read-bundle.ts';
import { type Adoption, writeAdoption } from './adopt/write-adoption.ts';
import type { AdoptSettings } from './flags/access-settings.ts';
import { formatStructured } from './output/structured-output.ts';

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
    const output = options.output === 'text' ? undefined : options.output;
    const say = (text: string): void => {
      if (output === undefined) options.print(text);
    };
    const created: string[] = [];
    say(describeAdoption(adoption));
    if (options.confirm) {
      await writeAdoption(session, adoption, (text) => {
        created.push(text);
        say(`created ${text}`);
      });
      await recordAdoption(session, adoption);
    }
    const { namespace, name } = adoption.target.cluster.metadata;
    say(
      options.confirm
        ? `Adopted Cluster ${namespace}/${name}.`
        : 'If that is right, repeat the command with --confirm.',
    );
    if (output) options.print(formatStructured(toAdoptOutput(adoption, options.confirm, created), output));
  });
}

async function recordAdoption(session: AccessSession, { target, found }: Adoption): Promise<void> {
  const message = `${describeCaller(await findCaller(session))} adopted ${found.nodes.length} nodes at ${found.endpoint}.`;
  await recordOnCluster(session, target.cluster, { reason: 'Adopted', message });
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
