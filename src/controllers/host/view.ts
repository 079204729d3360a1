import type { ConditionReason } from '../../api/conditions.ts';
import type { Host } from '../../api/host.ts';
import { Machine } from '../../api/machine.ts';
import { annotations } from '../../api/names.ts';
import type { ProviderConfig } from '../../api/provider-config.ts';
import type { AdvanceResult } from '../../engine/advance.ts';
import type { HostInventory, HostServer } from '../../engine/capabilities/hosts.ts';
import type { Platform } from '../../engine/platform.ts';
import { isOwnMachine } from '../cluster/ownership.ts';
import { isOwnConfig } from '../cluster/view.ts';
import type { Services } from '../shared/services.ts';
import { choosePlatform } from '../shared/spec/choose-platform.ts';
import { parseSpec } from '../shared/spec/parse-spec.ts';
import { chooseHeldHost, choosePrimaryHost, hostStatusOf, toHostView } from './availability.ts';

/** What people may ask for by an annotation. */
export const hostTaskKinds = ['inspect', 'reboot'] as const;
export type HostTaskKind = (typeof hostTaskKinds)[number];

export const isTaskRequested = ({ metadata }: Host, plan: HostTaskKind): boolean =>
  metadata.annotations?.[annotations[plan]] !== undefined;

/** Through whom the provider of a server is asked. */
export interface ManagingConfig {
  readonly config: ProviderConfig;
  readonly platform: Platform;
  readonly inventory: HostInventory<unknown>;
  readonly section: unknown;
}

/** Who holds a Host. A Machine that is `gone` does not exist any more and has not let go. */
export type HostHolder =
  | { readonly kind: 'none' }
  | { readonly kind: 'machine'; readonly machine: Machine }
  | { readonly kind: 'gone'; readonly name: string };

/** What the provider of the server said, or why nobody could be asked. */
export type HostIdentification =
  | { readonly server: HostServer }
  | { readonly refused: string }
  | { readonly unasked: string; readonly reason: ConditionReason };

/** Something that was asked for and is not done. */
export interface TaskRejection {
  readonly plan: HostTaskKind;
  readonly reason: ConditionReason;
  readonly message: string;
}

/** All that is known of a Host when it is decided what to do. */
export interface HostSnapshot {
  readonly host: Host;
  readonly holder: HostHolder;
  readonly keeper: ManagingConfig | undefined;
  /** Name of another Host of the same server, which counts instead. */
  readonly rival: string | undefined;
  /** Its Machine holds another one besides, and goes on with that. */
  readonly isSurplus: boolean;
  /** Undefined: nobody was asked yet. */
  readonly identity?: HostIdentification;
  /** How the walk of its task ended for now. */
  readonly verdict?: AdvanceResult<HostTaskKind>;
  readonly refusal?: TaskRejection;
}

/**
 * Undefined: it is for another provider. That of the Machine that holds it writes its status; else that of the first
 * ProviderConfig that uses it; and where none does all of them would say the same.
 */
export async function buildHostSnapshot(
  services: Services,
  host: Host,
  signal: AbortSignal,
): Promise<HostSnapshot | undefined> {
  const holder = await findHolder(services, host, signal);
  if (!holder) return undefined;
  const keeper = findManagingConfig(services, host, holder);
  const isOurs = holder.kind === 'machine' || !keeper || isOwnConfig(services, keeper.config);
  if (!isOurs) return undefined;
  const { hosts } = services.stores;
  const first = choosePrimaryHost(hosts.by('server', String(host.spec.serverNumber)));
  const held = chooseHeldHost(hosts.by('machine', hostStatusOf(host).machineRef?.uid ?? ''));
  return {
    ...{ host, holder, keeper },
    rival: first && first.metadata.uid !== host.metadata.uid ? first.metadata.name : undefined,
    isSurplus: hostStatusOf(host).state === 'Claimed' && held !== undefined && held.metadata.uid !== host.metadata.uid,
  };
}

/** Undefined: a Machine of another provider. That one is gone is for the API server to say: a watch may be late. */
async function findHolder(services: Services, host: Host, signal: AbortSignal): Promise<HostHolder | undefined> {
  const { machineRef } = hostStatusOf(host);
  if (!machineRef) return { kind: 'none' };
  const { name, uid } = machineRef;
  const known = services.stores.machines.get({ name });
  const machine = known?.metadata.uid === uid ? known : await services.kube.find(Machine, { name }, signal);
  if (machine?.metadata.uid !== uid) return { kind: 'gone', name };
  return isOwnMachine(services, machine.spec) ? { kind: 'machine', machine } : undefined;
}

function findManagingConfig(services: Services, host: Host, holder: HostHolder): ManagingConfig | undefined {
  const keepers = services.stores.providerConfigs.list().flatMap((config) => toManagingConfig(services, config) ?? []);
  const own = holder.kind === 'machine' ? holder.machine.spec.providerConfigRef.name : undefined;
  const labels = toHostView(host)?.labels;
  return (
    keepers.find(({ config }) => config.metadata.name === own) ??
    keepers
      .filter(({ inventory, section }) => labels && inventory.uses(section, labels))
      .sort((a, b) => (a.config.metadata.name < b.config.metadata.name ? -1 : 1))[0]
  );
}

function toManagingConfig({ platforms }: Services, config: ProviderConfig): ManagingConfig | undefined {
  const parsed = parseSpec(config);
  const chosen = parsed.success ? choosePlatform(platforms, parsed.data) : undefined;
  const inventory = chosen?.platform.inventory;
  return chosen && inventory && { config, platform: chosen.platform, inventory, section: chosen.config };
}
