import { Machine as MachineType } from '../../src/api/machine.ts';
import { AccessRequest, Cluster } from '../../src/api/openmcp.ts';
import { ProviderConfig } from '../../src/api/provider-config.ts';
import type { KubeObject, ResourceType } from '../../src/kube/resource.ts';
import type { Session } from './session.ts';

interface Standing extends KubeObject {
  status?: {
    phase?: string;
    message?: string;
    conditions?: readonly { type: string; status: string; message: string }[];
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

function describe({ status, metadata }: Standing): string {
  const phase = status?.phase || (metadata.deletionTimestamp ? 'Terminating' : 'Pending');
  const why =
    status?.message ??
    status?.conditions?.find((condition) => condition.type === 'Ready' && condition.status !== 'True')?.message ??
    '';
  return `${phase.padEnd(13)} ${why}`.trimEnd();
}
