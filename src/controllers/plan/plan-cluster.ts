import type { PreviewContext, PreviewLine } from '../../engine/capabilities/preview.ts';
import { describeRejections, type HostView } from '../../engine/host.ts';
import type { Owner } from '../../engine/node.ts';
import type { Facts } from '../../engine/step.ts';
import { ProviderError } from '../../lib/errors.ts';
import type { SecretStrings } from '../../lib/secret-string.ts';
import type { PlacedMachine } from '../cluster/choose-failure-domain.ts';
import type { MachineSlot } from '../cluster/view.ts';
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
  readonly seat: HostAssignment;
  /** Why its provisioning would stop. */
  readonly stuck: string | undefined;
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
  /** URL of the API server, if known. */
  readonly endpoint: string | undefined;
  /** False: names and MAC addresses that depend on the platform cluster are not known. */
  readonly isMarked: boolean;
}

/** The input of a plan. Contains no means to change anything. */
export type ClusterPlanInput = Omit<Parameters<typeof assignHosts>[0], 'refuses'> &
  Parameters<typeof planAddresses>[0] &
  Pick<ChosenPlatform, 'platform'> & {
    readonly sources: PlannedConfigSources;
    readonly owner: Omit<Owner, 'machine'>;
    /** All known Machines of the ProviderConfig. */
    readonly ofConfig: readonly PlacedMachine[];
    readonly ground: Omit<PreviewContext, 'owner' | 'facts' | 'node' | 'host' | 'servers' | 'credentials'>;
    /** By failure domain. */
    credentialsAt(site: string | undefined): SecretStrings;
  };

/** Plans the Machines of a cluster and the assignment of Hosts. Requests to the platform are read-only. */
export async function planCluster(material: ClusterPlanInput): Promise<ClusterPlan> {
  const { platform, ground, hosts } = material;
  const { inventory } = platform;
  const refuses = (host: HostView, slot: MachineSlot) => inventory?.refuses(ground.config, host, slot);
  const names = platform.sites.names(ground.config);
  const seats = assignFailureDomains(assignHosts({ ...material, refuses }), names, material.ofConfig);
  const addresses = await planAddresses(material, seats);
  const machines: PlannedMachine[] = [];
  for (const seat of seats) {
    const stuck = inventory && !seat.host ? describeRejections(seat.slot.size, seat.rejected) : undefined;
    if (stuck === undefined) machines.push({ seat, stuck, ...(await planMachine(material, seat, addresses)) });
    else machines.push({ seat, stuck, lines: [], document: undefined });
  }
  const spares = inventory ? unassignedHosts(seats, { hosts, refuses }) : [];
  const left: UnassignedHosts[] = [];
  for (const reason of new Set(spares.map((spare) => spare.reason))) {
    const alike = spares.filter((spare) => spare.reason === reason).map(({ host }) => host);
    const refused: string[] = [];
    for (const host of alike) {
      const lines = seats[0] ? await previewMachine(material, seats[0], addresses, toHostView(host)) : [];
      refused.push(...lines.filter(({ effect }) => effect === 'refuses').map(({ what }) => what));
    }
    left.push({ reason, names: alike.map(({ metadata }) => metadata.name), refused });
  }
  return {
    ...{ machines, left, shared: await previewShared(material, machines) },
    ...{ endpoint: addresses.endpoint, isMarked: material.owner.installation !== '' },
  };
}

/** A Machine stops if it gets no address or no configuration can be rendered for it. */
async function planMachine(
  material: ClusterPlanInput,
  seat: HostAssignment,
  addresses: PlannedAddresses,
): Promise<Pick<PlannedMachine, 'lines' | 'document'>> {
  const lines = await previewMachine(material, seat, addresses, seat.host);
  if (material.section.addressing.pool === 'main' && !addresses.machines.has(seat.slot.name)) {
    const what = 'No address of network.addressPool is left for it. Add some.';
    return { lines: [...lines, { effect: 'refuses', what }], document: undefined };
  }
  try {
    const hardware = material.platform.hardware(previewContextOf(material, seat, addresses, seat.host));
    return { lines, document: hardware && renderPlannedConfig(material.sources, seat, hardware, addresses) };
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    return { lines: [...lines, { effect: 'refuses', what: error.message }], document: undefined };
  }
}

const serverNumbersOf = (hosts: ClusterPlanInput['hosts']) => (): ReadonlySet<number> =>
  new Set(hosts.map(({ spec }) => spec.serverNumber));

async function previewMachine(
  ...[material, seat, addresses, host]: Parameters<typeof previewContextOf>
): Promise<readonly PreviewLine[]> {
  const lines = await unknownOnError(material.platform.preview(previewContextOf(material, seat, addresses, host)));
  return isProvisioned(seat.machine?.status?.progress) ? lines.map(asExisting) : lines;
}

const asExisting = (line: PreviewLine): PreviewLine => (line.effect === 'makes' ? { ...line, effect: 'has' } : line);

function previewContextOf(
  { owner, ground, hosts, spec, credentialsAt }: ClusterPlanInput,
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
    ...ground,
    ...{
      host,
      credentials: credentialsAt(slot.site),
      node: slot,
      facts: { ...given, ...known },
    },
    owner: { ...owner, machine: slot.name },
    servers: serverNumbersOf(hosts),
  };
}

/** Without the Machines whose provisioning would stop. */
async function previewShared(
  { platform, ground, hosts, credentialsAt }: ClusterPlanInput,
  planned: readonly PlannedMachine[],
): Promise<readonly PreviewLine[]> {
  const machines = planned.flatMap(({ seat: { slot, host }, lines }) =>
    host && lines.every(({ effect }) => effect !== 'refuses') ? [{ role: slot.role, host }] : [],
  );
  return await unknownOnError(
    platform.previewShared({
      ...ground,
      credentials: credentialsAt(undefined),
      machines,
      servers: serverNumbersOf(hosts),
    }),
  );
}

/** An unreachable platform must not prevent the rest of the plan. */
async function unknownOnError(lines: Promise<readonly PreviewLine[]>): Promise<readonly PreviewLine[]> {
  try {
    return await lines;
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    return [{ effect: 'unknown', what: error.message }];
  }
}
