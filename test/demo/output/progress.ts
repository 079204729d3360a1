import { Host } from '../../../src/api/host.ts';
import { Machine } from '../../../src/api/machine.ts';
import { AccessRequest, Cluster } from '../../../src/api/openmcp/types.ts';
import { ProviderConfig } from '../../../src/api/provider-config.ts';
import type { KubeObject, ResourceType } from '../../../src/kube/resource.ts';
import type { ClusterSession } from '../cluster-session.ts';
import type { DemoContext } from '../demo-context.ts';

interface ObjectWithStatus extends KubeObject {
  status?: {
    phase?: string;
    message?: string;
    conditions?: readonly { type: string; status: string; reason: string; message: string }[];
  };
}

/** How everything stands: one line for each object, with what it waits for. */
export async function describeAll(session: ClusterSession): Promise<Map<string, string>> {
  const lines = new Map<string, string>();
  await addLines(lines, session, ProviderConfig);
  await addLines(lines, session, Cluster);
  await addLines(lines, session, Host);
  await addLines(lines, session, Machine);
  await addLines(lines, session, AccessRequest);
  return lines;
}

async function addLines(lines: Map<string, string>, session: ClusterSession, type: ResourceType): Promise<void> {
  const { items } = await session.client.list(type);
  for (const object of items)
    lines.set(
      `${type.kind} ${shortName(object.metadata.name)}`,
      type === Host ? describeHost(object as Host) : describeObject(object),
    );
}

/** Machines are told apart by the end of their names. */
const shortName = (name: string): string => name.replace(/^.*-[a-z2-7]{8}-/, '');

/** A server, what it is used for, and by which Machine. */
function describeHost({ spec, status }: Host): string {
  const holder = status?.machineRef ? shortName(status.machineRef.name) : '';
  const words = `${(status?.state ?? 'Pending').padEnd(14)} ${spec.serverNumber}  ${holder}`;
  return (holder ? words : `${words} ${status?.message ?? ''}`).trimEnd();
}

/** What has come about since it was last asked for, each moment of each Machine once. */
export async function newMilestones({
  session,
  story,
  told,
}: Pick<DemoContext, 'session' | 'story' | 'told'>): Promise<string[]> {
  if (story.moments.length === 0) return [];
  const { items } = await session.client.list(Machine);
  const all = items.flatMap((machine) => story.moments.map((moment) => moment(machine)));
  const fresh = all.filter((text) => text !== undefined).filter((text) => !told.has(text));
  for (const text of fresh) told.add(text);
  return fresh;
}

function describeObject({ kind, status, metadata }: ObjectWithStatus): string {
  const phase = metadata.deletionTimestamp ? 'Terminating' : status?.phase || 'Pending';
  const why = status?.message ?? conditionOf(status, 'Ready')?.message ?? '';
  const isReady = conditionOf(status, 'Ready')?.status === 'True';
  // A Cluster repeats what its Machines say; the first sentence is its own.
  const shown = isReady ? '' : kind === 'Cluster' ? (why.split(/(?<=\.)\s/)[0] ?? '') : why;
  return `${phase.padEnd(13)} ${shown}`.trimEnd();
}

const conditionOf = (status: ObjectWithStatus['status'], type: string) =>
  status?.conditions?.find((condition) => condition.type === type);

/** Why there is no use in waiting any longer: something that was applied is wrong, and says so itself. */
export async function findConfigProblem(session: ClusterSession): Promise<string | undefined> {
  const { items } = await session.client.list<ObjectWithStatus>(ProviderConfig as ResourceType<ObjectWithStatus>);
  for (const { metadata, status } of items) {
    for (const type of ['ConfigValid', 'CredentialsValid']) {
      const condition = conditionOf(status, type);
      if (condition?.status === 'False' && condition.reason !== 'PlatformUnreachable')
        return `ProviderConfig ${metadata.name} is refused: ${condition.message}`;
    }
  }
  return undefined;
}
