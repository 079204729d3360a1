import { z } from 'zod';
import type { OrphanRemovalContext } from '../../../engine/capabilities/orphans.ts';
import type { StepContext } from '../../../engine/contexts.ts';
import type { Owner } from '../../../engine/node.ts';
import { ProviderError } from '../../../lib/errors.ts';
import { connectTrueNas, type TrueNasClient } from '../api/client.ts';
import { Dataset, type FileStat, type Vm } from '../api/schema.ts';
import { BatchedReads } from '../cache/batched-reads.ts';
import type { StepCache } from '../cache/step-cache.ts';
import type { TrueNasConfig, VmSize } from '../config/config.ts';
import { hasCode } from '../errors.ts';
import {
  isFullyMarked,
  isOwnDataset,
  isOwnVm,
  markLine,
  markProperties,
  type VmIdentity,
  vmIdentityOf,
} from './identity.ts';

/** The context of a walk whose steps share a step cache. */
interface StepCacheHolder {
  readonly cache?: StepCache;
}
export type TrueNasStepContext = StepContext<TrueNasConfig> & StepCacheHolder;
/** The context of a release, with or without a Machine. */
export type TrueNasRemovalContext = OrphanRemovalContext<TrueNasConfig> & StepCacheHolder;

/** The system and the identity that the steps of one machine work with. */
export interface MachineScope {
  readonly nas: TrueNasClient;
  readonly identity: VmIdentity;
  readonly owner: Owner;
  readonly signal: AbortSignal;
  readonly cache: StepCache | undefined;
}

export function machineScopeOf(context: TrueNasRemovalContext): MachineScope {
  const { owner, signal, cache } = context;
  return { nas: connectTrueNas(context), identity: vmIdentityOf(context), owner, signal, cache };
}

/** The error for an object with our name and another owner. It is never changed. */
export function notOwnedError(what: string): ProviderError {
  return new ProviderError('OWNED_BY_OTHERS', `${what}. Rename or remove it, or choose another truenas.datasetPrefix.`);
}

/** Reads a dataset by its full name; undefined when it does not exist. */
export async function findDataset(
  { nas, signal }: Pick<MachineScope, 'nas' | 'signal'>,
  id: string,
  { children = false } = {},
): Promise<Dataset | undefined> {
  const { datasets, trees } = BatchedReads.of(nas);
  return await (children ? trees : datasets).request(id, signal);
}

/**
 * The dataset with our mark, from the step cache or read now; undefined when it does not exist. Throws
 * {@link notOwnedError} for a dataset of another owner, and TRUENAS_DATASET_LOCKED for a locked one, whose content
 * cannot be read.
 */
export async function findOwnDataset(
  system: MachineScope,
  id: string,
  owner = system.owner,
): Promise<Dataset | undefined> {
  const handed = system.cache?.dataset(id);
  const found = handed ? handed.found : await findDataset(system, id);
  if (found && !isOwnDataset(found, owner)) throw notOwnedError(`It is the dataset ${id}`);
  if (found?.locked) throw new ProviderError('TRUENAS_DATASET_LOCKED', `It is ${id} on ${system.nas.host}.`);
  return found;
}

/**
 * Creates a dataset with our mark, or finds it. When another client creates the same name at the same moment, its mark
 * decides.
 */
export async function ensureDataset(
  system: MachineScope,
  id: string,
  more: object,
  owner = system.owner,
): Promise<Dataset> {
  const { nas, signal, cache } = system;
  let dataset = await findOwnDataset(system, id, owner);
  if (dataset) cache?.noteDataset(id, dataset);
  else {
    cache?.forgetDataset(id);
    const properties = markProperties(owner);
    const request = { name: id, comments: markLine(owner), user_properties: properties, ...more };
    try {
      dataset = await nas.change('pool.dataset.create', [request], Dataset, { signal, seconds: 60 });
      cache?.noteNewDataset(id, dataset);
    } catch (error) {
      if (!hasCode(error, 'TRUENAS_ALREADY_EXISTS')) throw error;
      // The cached entry was wrong.
      dataset = await findOwnDataset({ ...system, cache: undefined }, id, owner);
      if (!dataset) throw error;
      cache?.noteDataset(id, dataset);
    }
  }
  // TrueNAS 26.0.0-BETA.3 drops user properties at creation.
  if (!isFullyMarked(dataset)) await setUserProperties(system, id, markProperties(owner));
  return dataset;
}

export async function setUserProperties(
  { nas, signal }: Pick<MachineScope, 'nas' | 'signal'>,
  id: string,
  properties: readonly ({ key: string; value: string } | { key: string; remove: boolean })[],
): Promise<void> {
  const change = { user_properties_update: properties };
  await nas.change('pool.dataset.update', [id, change], z.unknown(), { signal });
}

/** Our VM, whatever its current name, and a foreign VM with our name. Read now. */
export async function findVm(system: MachineScope): Promise<{ own?: Vm; foreign?: Vm }> {
  const { nas, identity, signal } = system;
  const found = await BatchedReads.of(nas).vms.request(`${identity.uuid}/${identity.vmName}`, signal);
  return pickVm(system, found ?? []);
}

/** The same out of a list. Throws TRUENAS_VM_TWICE when two VMs match: then neither is changed. */
export function pickVm({ identity, owner, nas }: MachineScope, all: readonly Vm[]): { own?: Vm; foreign?: Vm } {
  // Each machine searches a list of hundreds, so the cheap comparison comes first.
  const mine = all.filter((vm) => vm.uuid?.toLowerCase() === identity.uuid && isOwnVm(vm, owner));
  if (mine.length > 1) {
    const names = mine.map(({ id, name }) => `${name} (${id})`).join(' and ');
    throw new ProviderError(
      'TRUENAS_VM_TWICE',
      `On ${nas.host} these have it: ${names}. Remove the one that is a copy.`,
    );
  }
  const [own] = mine;
  const foreign = all.find((vm) => vm !== own && (vm.name === identity.vmName || vm.uuid === identity.uuid));
  return { ...(own ? { own } : {}), ...(foreign ? { foreign } : {}) };
}

/** Our VM, taken from the step cache or read now. A cached VM is used once, because a step may change it. */
export async function takeCachedVm(system: MachineScope): Promise<Vm | undefined> {
  const handed = system.cache?.takeVm();
  return handed ? handed.found : (await findVm(system)).own;
}

/** The same for steps after its creation. */
export async function getOwnVm(system: MachineScope): Promise<Vm> {
  const own = await takeCachedVm(system);
  if (own) return own;
  throw new ProviderError('TRUENAS_NOT_FOUND', `The virtual machine ${system.identity.vmName}.`);
}

/** Undefined when there is nothing at `path`. */
export async function findFile(
  { nas, signal }: Pick<MachineScope, 'nas' | 'signal'>,
  path: string,
): Promise<FileStat | undefined> {
  const result = await BatchedReads.of(nas).files.request(path, signal);
  if (result?.status === 'rejected') throw result.reason;
  return result?.value;
}

/** All VMs of the system with their devices, whatever their owner. */
export const readAllVms = async ({ nas, signal }: Pick<MachineScope, 'nas' | 'signal'>): Promise<readonly Vm[]> =>
  (await BatchedReads.of(nas).allVms.request('all', signal)) ?? [];

/**
 * Ids of the VMs with a device on `path`, a snapshot of it, or below it. There must be none before a deletion, because
 * deleting a dataset stops every VM that uses it (middleware: plugins/vm/attachments.py).
 */
export function vmIdsUsing(vms: readonly Vm[], path: string): readonly number[] {
  const lies = (used: string) => used === path || used.startsWith(`${path}/`) || used.startsWith(`${path}@`);
  const uses = (used: string | null | undefined) => typeof used === 'string' && lies(used);
  return vms.filter(({ devices }) => devices.some(({ attributes }) => uses(attributes.path))).map(({ id }) => id);
}

/** The size of a node. */
export function getVmSize(context: TrueNasStepContext): VmSize {
  const size = context.config.sizes.find(({ name }) => name === context.node.size);
  if (size) return size;
  const names = context.config.sizes.map(({ name }) => name).join(', ');
  throw new ProviderError('TRUENAS_SIZE_UNKNOWN', `There is no ${context.node.size}; there are ${names}.`);
}

/** A fact of an earlier step. */
export function getFact(context: Pick<TrueNasStepContext, 'facts'>, name: string): string {
  const value = context.facts[name];
  if (typeof value === 'string') return value;
  throw new ProviderError('INTERNAL', `The fact ${name} is missing.`);
}

export const isVmActive = (vm: Vm): boolean => ['RUNNING', 'SUSPENDED'].includes(vm.status.state);
