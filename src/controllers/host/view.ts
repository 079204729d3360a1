import type { ConditionReason } from '../../api/conditions.ts';
import { type Host, serverKeyOf } from '../../api/host.ts';
import { Machine } from '../../api/machine.ts';
import { annotations } from '../../api/names.ts';
import type { ProviderConfig } from '../../api/provider-config.ts';
import { findHostSection } from '../../api/schema/host-sections.ts';
import type { AdvanceResult } from '../../engine/advance.ts';
import type { HostInventory } from '../../engine/capabilities/hosts.ts';
import type { HostServer } from '../../engine/host.ts';
import type { Platform } from '../../engine/platform.ts';
import { isOwnMachine } from '../cluster/identity.ts';
import { isOwnConfig } from '../cluster/view.ts';
import type { Services } from '../shared/services.ts';
import { choosePlatform } from '../shared/spec/choose-platform.ts';
import { parseSpec } from '../shared/spec/parse-spec.ts';
import { chooseHeldHost, choosePrimaryHost, hostStatusOf, toHostView } from './availability.ts';

/** The tasks that a user can request by annotation. */
export const hostTaskKinds = ['inspect', 'reboot'] as const;
export type HostTaskKind = (typeof hostTaskKinds)[number];

export const isTaskRequested = ({ metadata }: Host, plan: HostTaskKind): boolean =>
  metadata.annotations?.[annotations[plan]] !== undefined;

/** The ProviderConfig through which the provider of a server is asked. */
export interface ManagingConfig {
  readonly config: ProviderConfig;
  readonly platform: Platform;
  readonly inventory: HostInventory<unknown>;
  readonly section: unknown;
}

/** The holder of a Host. `gone`: the Machine no longer exists and has not released the Host. */
export type HostHolder =
  | { readonly kind: 'none' }
  | { readonly kind: 'machine'; readonly machine: Machine }
  | { readonly kind: 'gone'; readonly name: string };

/** The answer of the server's provider, or why it could not be asked. */
export type HostIdentification =
  | { readonly server: HostServer }
  | { readonly refused: string }
  | { readonly notIdentified: string; readonly reason: ConditionReason };

/** A requested task that is not done. */
export interface TaskRejection {
  readonly plan: HostTaskKind;
  readonly reason: ConditionReason;
  readonly message: string;
}

/** The input of {@link decideHost}. */
export interface HostSnapshot {
  readonly host: Host;
  readonly holder: HostHolder;
  readonly providerConfig: ManagingConfig | undefined;
  /** Name of another Host of the same server that has precedence. */
  readonly duplicate: string | undefined;
  /** Its Machine also holds another Host and uses that one. */
  readonly isSurplus: boolean;
  /** Undefined: the provider was not asked yet. */
  readonly identity?: HostIdentification;
  /** The result of the task steps in this reconcile. */
  readonly identification?: AdvanceResult<HostTaskKind>;
  readonly rejectionReason?: TaskRejection;
}

/**
 * Undefined: another provider writes the status of the Host. The provider of the holding Machine writes it; otherwise
 * that of the first ProviderConfig that uses the Host. Without any, all providers would write the same.
 */
export async function buildHostSnapshot(
  services: Services,
  host: Host,
  signal: AbortSignal,
): Promise<HostSnapshot | undefined> {
  const holder = await findHolder(services, host, signal);
  if (!holder) return undefined;
  const owner = findManagingConfig(services, host, holder);
  const isOurs = holder.kind === 'machine' || !owner || isOwnConfig(services, owner.config);
  if (!isOurs) return undefined;
  const { hosts } = services.stores;
  const first = choosePrimaryHost(hosts.by('server', serverKeyOf(host)));
  const held = chooseHeldHost(hosts.by('machine', hostStatusOf(host).machineRef?.uid ?? ''));
  return {
    ...{ host, holder, providerConfig: owner },
    duplicate: first && first.metadata.uid !== host.metadata.uid ? first.metadata.name : undefined,
    isSurplus: hostStatusOf(host).state === 'Claimed' && held !== undefined && held.metadata.uid !== host.metadata.uid,
  };
}

/**
 * Undefined: the Machine belongs to another provider. The absence of a Machine is verified at the API server, because a
 * watch may be late.
 */
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
  const providerConfigs = services.stores.providerConfigs
    .list()
    .flatMap((config) => toManagingConfig(services, config) ?? []);
  const own = holder.kind === 'machine' ? holder.machine.spec.providerConfigRef.name : undefined;
  const view = toHostView(host);
  const given = findHostSection(host.spec);
  return (
    providerConfigs.find(({ config }) => config.metadata.name === own) ??
    providerConfigs
      .filter(
        ({ platform, inventory, section }) =>
          view && platform.name === given?.name && inventory.mayClaim(section, view.labels),
      )
      .sort((a, b) => (a.config.metadata.name < b.config.metadata.name ? -1 : 1))[0]
  );
}

function toManagingConfig({ platforms }: Services, config: ProviderConfig): ManagingConfig | undefined {
  const parsed = parseSpec(config);
  const chosen = parsed.success ? choosePlatform(platforms, parsed.data) : undefined;
  const inventory = chosen?.platform.hosts;
  return chosen && inventory && { config, platform: chosen.platform, inventory, section: chosen.config };
}
