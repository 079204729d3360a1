import type { Reason } from '../../api/conditions.ts';
import type { Host } from '../../api/host.ts';
import { Machine } from '../../api/machine.ts';
import { annotations } from '../../api/names.ts';
import type { ProviderConfig } from '../../api/provider-config.ts';
import type { Verdict } from '../../engine/advance.ts';
import type { HostServer, Inventory } from '../../engine/host.ts';
import type { Platform } from '../../engine/platform.ts';
import { isOwnMachine } from '../cluster/identity.ts';
import { isOwnConfig } from '../cluster/view.ts';
import type { Services } from '../services.ts';
import { parseSpec } from '../spec/parse.ts';
import { choosePlatform } from '../spec/platform.ts';
import { firstOfServer, heldOf, statusOf, toView } from './standing.ts';

/** What people may ask for by an annotation. */
export const taskPlans = ['inspect', 'reboot'] as const;
export type TaskPlan = (typeof taskPlans)[number];

export const isAsked = ({ metadata }: Host, plan: TaskPlan): boolean =>
  metadata.annotations?.[annotations[plan]] !== undefined;

/** Through whom the provider of a server is asked. */
export interface Keeper {
  readonly config: ProviderConfig;
  readonly platform: Platform;
  readonly inventory: Inventory<unknown>;
  readonly section: unknown;
}

/** Who holds a Host. A Machine that is `gone` does not exist any more and has not let go. */
export type Holder =
  | { readonly kind: 'none' }
  | { readonly kind: 'machine'; readonly machine: Machine }
  | { readonly kind: 'gone'; readonly name: string };

/** What the provider of the server said, or why nobody could be asked. */
export type Identity =
  | { readonly server: HostServer }
  | { readonly refused: string }
  | { readonly unasked: string; readonly reason: Reason };

/** Something that was asked for and is not done. */
export interface Refusal {
  readonly plan: TaskPlan;
  readonly reason: Reason;
  readonly message: string;
}

/** All that is known of a Host when it is decided what to do. */
export interface HostSight {
  readonly host: Host;
  readonly holder: Holder;
  readonly keeper: Keeper | undefined;
  /** Name of another Host of the same server, which counts instead. */
  readonly rival: string | undefined;
  /** Its Machine holds another one besides, and goes on with that. */
  readonly isSurplus: boolean;
  /** Undefined: nobody was asked yet. */
  readonly identity?: Identity;
  /** How the walk of its task ended for now. */
  readonly verdict?: Verdict<TaskPlan>;
  readonly refusal?: Refusal;
}

/**
 * Undefined: it is for another provider. That of the Machine that holds it writes its status; else that of the first
 * ProviderConfig that uses it; and where none does all of them would say the same.
 */
export async function look(services: Services, host: Host, signal: AbortSignal): Promise<HostSight | undefined> {
  const holder = await findHolder(services, host, signal);
  if (!holder) return undefined;
  const keeper = findKeeper(services, host, holder);
  const isOurs = holder.kind === 'machine' || !keeper || isOwnConfig(services, keeper.config);
  if (!isOurs) return undefined;
  const { hosts } = services.stores;
  const first = firstOfServer(hosts.by('server', String(host.spec.serverNumber)));
  const held = heldOf(hosts.by('machine', statusOf(host).machineRef?.uid ?? ''));
  return {
    ...{ host, holder, keeper },
    rival: first && first.metadata.uid !== host.metadata.uid ? first.metadata.name : undefined,
    isSurplus: statusOf(host).state === 'Claimed' && held !== undefined && held.metadata.uid !== host.metadata.uid,
  };
}

/** Undefined: a Machine of another provider. That one is gone is for the API server to say: a watch may be late. */
async function findHolder(services: Services, host: Host, signal: AbortSignal): Promise<Holder | undefined> {
  const { machineRef } = statusOf(host);
  if (!machineRef) return { kind: 'none' };
  const { name, uid } = machineRef;
  const known = services.stores.machines.get({ name });
  const machine = known?.metadata.uid === uid ? known : await services.kube.find(Machine, { name }, signal);
  if (machine?.metadata.uid !== uid) return { kind: 'gone', name };
  return isOwnMachine(services, machine.spec) ? { kind: 'machine', machine } : undefined;
}

function findKeeper(services: Services, host: Host, holder: Holder): Keeper | undefined {
  const keepers = services.stores.providerConfigs.list().flatMap((config) => toKeeper(services, config) ?? []);
  const own = holder.kind === 'machine' ? holder.machine.spec.providerConfigRef.name : undefined;
  const labels = toView(host)?.labels;
  return (
    keepers.find(({ config }) => config.metadata.name === own) ??
    keepers
      .filter(({ inventory, section }) => labels && inventory.uses(section, labels))
      .sort((a, b) => (a.config.metadata.name < b.config.metadata.name ? -1 : 1))[0]
  );
}

function toKeeper({ platforms }: Services, config: ProviderConfig): Keeper | undefined {
  const parsed = parseSpec(config);
  const chosen = parsed.success ? choosePlatform(platforms, parsed.data) : undefined;
  const inventory = chosen?.platform.inventory;
  return chosen && inventory && { config, platform: chosen.platform, inventory, section: chosen.config };
}
