import { serverIDsOf } from '../../api/host.ts';
import type { PreviewContext, PreviewLine } from '../../engine/capabilities/preview.ts';
import { describeRejections, type HostView } from '../../engine/host.ts';
import type { Owner } from '../../engine/node.ts';
import type { Facts } from '../../engine/step.ts';
import { ProviderError } from '../../lib/errors.ts';
import type { SecretStrings } from '../../lib/secret-string.ts';
import type { PlacedMachine } from '../cluster/choose-failure-domain.ts';
import type { MachineSlot } from '../cluster/scaling/machine-slots.ts';
import { toHostView } from '../host/availability.ts';
import { isProvisioned } from '../machine/is-provisioned.ts';
import { toAssignedAddress } from '../shared/addresses/assigned-address.ts';
import type { ChosenPlatform } from '../shared/spec/choose-platform.ts';
import { assignFailureDomains } from './assign-failure-domains.ts';
import { assignHosts, type HostAssignment, unassignedHosts } from './assign-hosts.ts';
import { type PlannedAddresses, planAddresses } from './plan-addresses.ts';
import { type PlannedConfigSources, renderPlannedConfig } from './render-planned-config.ts';

/** The plan of one Machine and its resources. */
export interface PlannedMachine {
  readonly host: HostAssignment;
  /** Why its provisioning would stop. */
  readonly error: string | undefined;
  readonly lines: readonly PreviewLine[];
  /** Its machine configuration without secrets; undefined if it is not known. */
  readonly document: string | undefined;
}

/** Hosts that remain unassigned for the same reason. */
export interface UnassignedHosts {
  /** A text that follows a number. */
  readonly reason: string;
  readonly names: readonly string[];
  /** The Hosts that a closer check of the server would reject. */
  readonly refused: readonly string[];
}

export interface ClusterPlan {
  readonly machines: readonly PlannedMachine[];
  /** The changes to resources that the Machines share. */
  readonly shared: readonly PreviewLine[];
  readonly left: readonly UnassignedHosts[];
  /** Machines that the cluster has too many: they would be deleted. */
  readonly surplus: readonly string[];
  /** URL of the API server, if known. */
  readonly endpoint: string | undefined;
  /** False: names and MAC addresses that depend on the platform cluster are not known. */
  readonly isMarked: boolean;
}

/** The input of a plan. Contains no means to change anything. */
export type ClusterPlanInput = Omit<Parameters<typeof assignHosts>[0], 'whyUnsuitable'> &
  Parameters<typeof planAddresses>[0] &
  Pick<ChosenPlatform, 'platform'> & {
    readonly surplus: readonly string[];
    readonly sources: PlannedConfigSources;
    readonly owner: Omit<Owner, 'machine'>;
    /** All known Machines of the ProviderConfig. */
    readonly ofConfig: readonly PlacedMachine[];
    readonly previewContext: Omit<
      PreviewContext,
      'owner' | 'facts' | 'node' | 'host' | 'hostedServers' | 'credentials'
    >;
    /** By failure domain. */
    credentialsAt(failureDomain: string | undefined): SecretStrings;
  };

/** Plans the Machines of a cluster and the assignment of Hosts. Requests to the platform are read-only. */
export async function planCluster(material: ClusterPlanInput): Promise<ClusterPlan> {
  const { platform, previewContext: target, hosts } = material;
  const { hosts: inventory } = platform;
  const whyUnsuitable = (host: HostView, slot: MachineSlot) => inventory?.whyUnsuitable(target.config, host, slot);
  const names = platform.failureDomains.names(target.config);
  const assignments = assignFailureDomains(assignHosts({ ...material, whyUnsuitable }), names, material.ofConfig);
  const addresses = await planAddresses(material, assignments);
  const machines: PlannedMachine[] = [];
  for (const assignment of assignments) {
    const blocker =
      inventory && !assignment.host ? describeRejections(assignment.slot.size, assignment.rejected) : undefined;
    if (blocker === undefined)
      machines.push({ host: assignment, error: blocker, ...(await planMachine(material, assignment, addresses)) });
    else machines.push({ host: assignment, error: blocker, lines: [], document: undefined });
  }
  const unassigned = inventory ? unassignedHosts(assignments, { hosts, whyUnsuitable }) : [];
  const left: UnassignedHosts[] = [];
  for (const reason of new Set(unassigned.map((unassigned) => unassigned.reason))) {
    const alike = unassigned.filter((unassigned) => unassigned.reason === reason).map(({ host }) => host);
    const refused: string[] = [];
    for (const host of alike) {
      const lines = assignments[0] ? await previewMachine(material, assignments[0], addresses, toHostView(host)) : [];
      refused.push(...lines.filter(({ effect }) => effect === 'blocked').map(({ subject }) => subject));
    }
    left.push({ reason, names: alike.map(({ metadata }) => metadata.name), refused });
  }
  return {
    ...{ machines, left, surplus: material.surplus, shared: await previewShared(material, machines) },
    ...{ endpoint: addresses.endpoint, isMarked: material.owner.installation !== '' },
  };
}

/** A Machine stops if it gets no address or no configuration can be rendered for it. */
async function planMachine(
  material: ClusterPlanInput,
  assignment: HostAssignment,
  addresses: PlannedAddresses,
): Promise<Pick<PlannedMachine, 'lines' | 'document'>> {
  const lines = await previewMachine(material, assignment, addresses, assignment.host);
  if (material.section.addressing.pool === 'main' && !addresses.machines.has(assignment.slot.name)) {
    const what = 'No address of network.addressPool is left for it. Add some.';
    return { lines: [...lines, { effect: 'blocked', subject: what }], document: undefined };
  }
  try {
    const hardware = material.platform.preview.hardware(
      previewContextOf(material, assignment, addresses, assignment.host),
    );
    return { lines, document: hardware && renderPlannedConfig(material.sources, assignment, hardware, addresses) };
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    return { lines: [...lines, { effect: 'blocked', subject: error.message }], document: undefined };
  }
}

async function previewMachine(
  ...[material, assignment, addresses, host]: Parameters<typeof previewContextOf>
): Promise<readonly PreviewLine[]> {
  const lines = await unknownOnError(
    material.platform.preview.machine(previewContextOf(material, assignment, addresses, host)),
  );
  return isProvisioned(assignment.machine?.status?.progress) ? lines.map(asExisting) : lines;
}

const asExisting = (line: PreviewLine): PreviewLine => (line.effect === 'creates' ? { ...line, effect: 'has' } : line);

function previewContextOf(
  { owner, previewContext: target, hosts, spec, credentialsAt }: ClusterPlanInput,
  { slot, machine }: HostAssignment,
  { machines }: PlannedAddresses,
  host: HostView | undefined,
): PreviewContext {
  const known = (machine?.status?.progress?.facts ?? {}) as Facts;
  const address = machines.get(slot.name);
  // An address in the facts was assigned with the ProviderConfig of that time.
  const isGiven = address === undefined || known['address'] !== undefined;
  const given = isGiven ? {} : toAssignedAddress(address, spec.network, spec.network.prefix ?? 0);
  return {
    ...target,
    ...{
      host,
      credentials: credentialsAt(slot.failureDomain),
      node: slot,
      facts: { ...given, ...known },
    },
    owner: { ...owner, machine: slot.name },
    hostedServers: () => serverIDsOf(hosts),
  };
}

/** Without the Machines whose provisioning would stop. */
async function previewShared(
  { platform, previewContext: target, hosts, credentialsAt }: ClusterPlanInput,
  planned: readonly PlannedMachine[],
): Promise<readonly PreviewLine[]> {
  const machines = planned.flatMap(({ host: { slot, host }, lines }) =>
    host && lines.every(({ effect }) => effect !== 'blocked') ? [{ role: slot.role, host }] : [],
  );
  return await unknownOnError(
    platform.preview.cluster({
      ...target,
      credentials: credentialsAt(undefined),
      machines,
      hostedServers: () => serverIDsOf(hosts),
    }),
  );
}

/** An unreachable platform must not prevent the rest of the plan. */
async function unknownOnError(lines: Promise<readonly PreviewLine[]>): Promise<readonly PreviewLine[]> {
  try {
    return await lines;
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    return [{ effect: 'unknown', subject: error.message }];
  }
}
