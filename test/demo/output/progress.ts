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

/** The state of all objects: one line per object, with what it waits for. */
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

/** Machines are distinguished by the end of their names. */
const shortName = (name: string): string => name.replace(/^.*-[a-z2-7]{8}-/, '');

/** A server, its state, and the Machine that uses it. */
function describeHost({ spec, status }: Host): string {
  const holder = status?.machineRef ? shortName(status.machineRef.name) : '';
  const words = `${(status?.state ?? 'Pending').padEnd(14)} ${spec.serverID}  ${holder}`;
  return (holder ? words : `${words} ${status?.message ?? ''}`).trimEnd();
}

/** The milestones reached since the last call, each of each Machine once. */
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
  // A Cluster repeats the messages of its Machines; the first sentence is its own.
  const shown = isReady ? '' : kind === 'Cluster' ? (why.split(/(?<=\.)\s/)[0] ?? '') : why;
  return `${phase.padEnd(13)} ${shown}`.trimEnd();
}

const conditionOf = (status: ObjectWithStatus['status'], type: string) =>
  status?.conditions?.find((condition) => condition.type === type);

/** Why waiting is pointless: the condition of an applied object reports that it is invalid. */
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
