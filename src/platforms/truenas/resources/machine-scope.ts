import { z } from 'zod';
import type { OrphanRemovalContext } from '../../../engine/capabilities/orphans.ts';
import type { StepContext } from '../../../engine/contexts.ts';
import type { Owner } from '../../../engine/node.ts';
import type { ProviderError } from '../../../lib/errors.ts';
import { connectTrueNas, type TrueNasClient } from '../api/client.ts';
import { Dataset, type FileStat, type Vm } from '../api/schema.ts';
import type { ReadFreshness } from '../cache/knowledge-clock.ts';
import { SystemInformer } from '../cache/system-informer.ts';
import type { TrueNasConfig, VmSize } from '../config/config.ts';
import { TrueNasError } from '../error-codes.ts';
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

export type TrueNasStepContext = StepContext<TrueNasConfig>;
/** The context of a release, with or without a Machine. */
export type TrueNasRemovalContext = OrphanRemovalContext<TrueNasConfig>;

/** The system and the identity that the steps of one machine work with. */
export interface MachineScope {
  readonly nas: TrueNasClient;
  readonly identity: VmIdentity;
  readonly owner: Owner;
  readonly signal: AbortSignal;
}
/** The part of the scope that reads need. */
export type ReadScope = Pick<MachineScope, 'nas' | 'signal'>;

export function machineScopeOf(context: TrueNasRemovalContext): MachineScope {
  const { owner, signal } = context;
  return { nas: connectTrueNas(context), identity: vmIdentityOf(context), owner, signal };
}

/** The error for an object with our name and another owner. It is never changed. */
export function notOwnedError(what: string): ProviderError {
  return new TrueNasError('OWNED_BY_OTHERS', `${what}. Rename or remove it, or choose another truenas.datasetPrefix.`);
}

/** Reads a dataset by its full name now; undefined when it does not exist. */
export async function findDataset(
  { nas, signal }: ReadScope,
  id: string,
  { children = false } = {},
): Promise<Dataset | undefined> {
  const informer = SystemInformer.of(nas);
  if (children) return await informer.datasets.readTree(id, signal);
  return await informer.datasets.get(id, { atLeast: informer.nextVersion() }, signal);
}

/**
 * The dataset with our mark, read now; undefined when it does not exist. Throws {@link notOwnedError} for a dataset of
 * another owner, and TRUENAS_DATASET_LOCKED for a locked one, whose content cannot be read.
 */
export async function findOwnDataset(
  system: MachineScope,
  id: string,
  owner = system.owner,
): Promise<Dataset | undefined> {
  return assertOwnDataset(system, id, await findDataset(system, id), owner);
}

/** The same, as far as it is known: for a step that creates what is missing, where TrueNAS refuses what is there. */
export async function findKnownDataset(
  system: MachineScope,
  id: string,
  owner = system.owner,
): Promise<Dataset | undefined> {
  const { nas, signal } = system;
  return assertOwnDataset(system, id, await SystemInformer.of(nas).datasets.get(id, {}, signal), owner);
}

function assertOwnDataset(
  { nas }: MachineScope,
  id: string,
  found: Dataset | undefined,
  owner: Owner,
): Dataset | undefined {
  if (found && !isOwnDataset(found, owner)) throw notOwnedError(`It is the dataset ${id}`);
  if (found?.locked) throw new TrueNasError('TRUENAS_DATASET_LOCKED', `It is ${id} on ${nas.host}.`);
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
  const { nas, signal } = system;
  let dataset = await findKnownDataset(system, id, owner);
  if (!dataset) {
    const properties = markProperties(owner);
    const request = { name: id, comments: markLine(owner), user_properties: properties, ...more };
    try {
      dataset = await nas.change('pool.dataset.create', [request], Dataset, { signal, seconds: 60 });
    } catch (error) {
      if (!hasCode(error, 'TRUENAS_ALREADY_EXISTS')) throw error;
      dataset = await findOwnDataset(system, id, owner);
      if (!dataset) throw error;
    }
  }
  // TrueNAS 26.0.0-BETA.3 drops user properties at creation.
  if (!isFullyMarked(dataset)) await setUserProperties(system, id, markProperties(owner));
  return dataset;
}

export async function setUserProperties(
  { nas, signal }: ReadScope,
  id: string,
  properties: readonly ({ key: string; value: string } | { key: string; remove: boolean })[],
): Promise<void> {
  const change = { user_properties_update: properties };
  await nas.change('pool.dataset.update', [id, change], z.unknown(), { signal });
}

/** Our VM, whatever its current name, and a foreign VM with our name. By default read now. */
export async function findVm(system: MachineScope, freshness?: ReadFreshness): Promise<{ own?: Vm; foreign?: Vm }> {
  const { nas, identity, signal } = system;
  const informer = SystemInformer.of(nas);
  return pickVm(system, await informer.vms.named(identity, freshness ?? { atLeast: informer.nextVersion() }, signal));
}

/** The same out of a list. Throws TRUENAS_VM_TWICE when two VMs match: then neither is changed. */
export function pickVm({ identity, owner, nas }: MachineScope, all: readonly Vm[]): { own?: Vm; foreign?: Vm } {
  // Each machine searches a list of hundreds, so the cheap comparison comes first.
  const mine = all.filter((vm) => vm.uuid?.toLowerCase() === identity.uuid && isOwnVm(vm, owner));
  if (mine.length > 1) {
    const names = mine.map(({ id, name }) => `${name} (${id})`).join(' and ');
    throw new TrueNasError('TRUENAS_VM_TWICE', `On ${nas.host}: ${names}. Remove the copy.`);
  }
  const [own] = mine;
  const foreign = all.find((vm) => vm !== own && (vm.name === identity.vmName || vm.uuid === identity.uuid));
  return { ...(own ? { own } : {}), ...(foreign ? { foreign } : {}) };
}

/** Our VM as far as it is known, for steps after its creation. */
export async function getKnownVm(system: MachineScope): Promise<Vm> {
  const { own } = await findVm(system, {});
  if (own) return own;
  throw new TrueNasError('TRUENAS_NOT_FOUND', `The virtual machine ${system.identity.vmName}.`);
}

/** The file, read now; undefined when there is nothing at `path`. */
export async function findFile({ nas, signal }: ReadScope, path: string): Promise<FileStat | undefined> {
  const informer = SystemInformer.of(nas);
  return await informer.file(path, { atLeast: informer.nextVersion() }, signal);
}

/** All VMs of the system with their devices, whatever their owner, read now. */
export const readAllVms = async ({ nas, signal }: ReadScope): Promise<readonly Vm[]> =>
  await SystemInformer.of(nas).vms.readAll(signal);

/**
 * Ids of the VMs with a device on `path`, a snapshot of it, or below it. There must be none before a deletion, because
 * deleting a dataset stops every VM that uses it (middleware: plugins/vm/attachments.py).
 */
export function vmIdsUsing(vms: readonly Vm[], path: string): readonly number[] {
  const isUsed = (used: string) => used === path || used.startsWith(`${path}/`) || used.startsWith(`${path}@`);
  const uses = (used: string | null | undefined) => typeof used === 'string' && isUsed(used);
  return vms.filter(({ devices }) => devices.some(({ attributes }) => uses(attributes.path))).map(({ id }) => id);
}

/** The size of a node. */
export function getVmSize(context: TrueNasStepContext): VmSize {
  const size = context.config.sizes.find(({ name }) => name === context.node.size);
  if (size) return size;
  const names = context.config.sizes.map(({ name }) => name).join(', ');
  throw new TrueNasError(
    'TRUENAS_SIZE_UNKNOWN',
    `The size ${context.node.size} does not exist. Existing sizes: ${names}.`,
  );
}

/** A fact of an earlier step. */
export function getFact(context: Pick<TrueNasStepContext, 'facts'>, name: string): string {
  const value = context.facts[name];
  if (typeof value === 'string') return value;
  throw new TrueNasError('INTERNAL', `The fact ${name} is missing.`);
}

export const isVmActive = (vm: Vm): boolean => ['RUNNING', 'SUSPENDED'].includes(vm.status.state);
