import { Machine as MachineType } from '../../src/api/machine.ts';
import { AccessRequest, Cluster } from '../../src/api/openmcp.ts';
import { ProviderConfig } from '../../src/api/provider-config.ts';
import type { KubeObject, ResourceType } from '../../src/kube/resource.ts';
import type { Session } from './session.ts';

interface Standing extends KubeObject {
  status?: {
    phase?: string;
    message?: string;
    conditions?: readonly { type: string; status: string; reason: string; message: string }[];
  };
}

/** How everything stands: one line for each object, with what it waits for. */
export async function standing(session: Session): Promise<Map<string, string>> {
  const lines = new Map<string, string>();
  await add(lines, session, ProviderConfig);
  await add(lines, session, Cluster);
  await add(lines, session, MachineType);
  await add(lines, session, AccessRequest);
  return lines;
}

async function add(lines: Map<string, string>, session: Session, type: ResourceType): Promise<void> {
  const { items } = await session.client.list(type);
  for (const object of items) lines.set(`${type.kind} ${shortName(object.metadata.name)}`, describe(object));
}

/** Machines are told apart by the end of their names. */
const shortName = (name: string): string => name.replace(/^.*-[a-z2-7]{8}-/, '');

function describe({ kind, status, metadata }: Standing): string {
  const phase = metadata.deletionTimestamp ? 'Terminating' : status?.phase || 'Pending';
  const why = status?.message ?? conditionOf(status, 'Ready')?.message ?? '';
  const isReady = conditionOf(status, 'Ready')?.status === 'True';
  // A Cluster repeats what its Machines say; the first sentence is its own.
  const shown = isReady ? '' : kind === 'Cluster' ? (why.split(/(?<=\.)\s/)[0] ?? '') : why;
  return `${phase.padEnd(13)} ${shown}`.trimEnd();
}

const conditionOf = (status: Standing['status'], type: string) =>
  status?.conditions?.find((condition) => condition.type === type);

/** Why there is no use in waiting any longer: something that was applied is wrong, and says so itself. */
export async function whyHopeless(session: Session): Promise<string | undefined> {
  const { items } = await session.client.list<Standing>(ProviderConfig as ResourceType<Standing>);
  for (const { metadata, status } of items) {
    for (const type of ['ConfigValid', 'CredentialsValid']) {
      const condition = conditionOf(status, type);
      if (condition?.status === 'False' && condition.reason !== 'PlatformUnreachable')
        return `ProviderConfig ${metadata.name} is refused: ${condition.message}`;
    }
  }
  return undefined;
}
