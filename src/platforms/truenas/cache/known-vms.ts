import { z } from 'zod';
import { LruMap } from '../../../lib/lru-map.ts';
import type { TrueNasClient } from '../api/client.ts';
import { Vm, VmDevice } from '../api/schema.ts';
import type { KnowledgeClock, ReadFreshness } from './knowledge-clock.ts';
import { vmKey } from './own-writes.ts';
import type { ReadStamp } from './read-stamp.ts';
import { SharedRead } from './shared-read.ts';

/** The fields that are read. A VM has five times as many, and for three hundred all of them would be sent each time. */
export const vmListParams: readonly unknown[] = [[], { select: Object.keys(Vm.shape) }];

/** VMs are identified by UUID. The name of a VM can be taken by another one. */
export interface VmNames {
  readonly uuid: string;
  readonly vmName: string;
}

interface KnownVm {
  readonly vm: Vm;
  readonly stamp: ReadStamp;
}
type VmList = Map<number, KnownVm>;

/** A stop of a VM that was requested, with the VM as it was read before. */
interface PendingStop extends KnownVm {
  readonly job: number;
  /** The version of the request: the stop is pending as long as it is our last change of the VM. */
  readonly version: number;
  /** When to read the VM, by the monotonic clock, if the end of the job is not reported. */
  readonly observeAt: number;
}
const maxPendingStops = 1000;

const deviceChanges: readonly string[] = ['vm.device.create', 'vm.device.update', 'vm.device.delete'];

/** All VMs of one system with their devices, updated by the answers to our own changes. */
export class KnownVms {
  readonly #versions: KnowledgeClock;
  readonly #nas: TrueNasClient;
  readonly #list: SharedRead<VmList>;
  readonly #stops = new LruMap<string, PendingStop>(maxPendingStops);

  constructor(nas: TrueNasClient, versions: KnowledgeClock) {
    this.#nas = nas;
    this.#versions = versions;
    const { clock } = nas.options;
    const ask = async (stamp: ReadStamp): Promise<VmList> =>
      toList(await nas.read('vm.query', vmListParams, z.array(Vm), { signal: nas.over }), stamp);
    this.#list = new SharedRead({ clock, over: nas.over, versions, ask, merge });
  }

  /** All VMs, read after this question. */
  async readAll(signal: AbortSignal): Promise<readonly Vm[]> {
    const atLeast = this.#versions.next();
    const list = await this.#list.get(({ version }) => version >= atLeast, signal);
    return [...list.values()].map(({ vm }) => vm);
  }

  /** The VMs with the UUID or the name. */
  async named(names: VmNames, freshness: ReadFreshness, signal: AbortSignal): Promise<readonly Vm[]> {
    const find = async (suffices: (stamp: ReadStamp) => boolean): Promise<KnownVm[]> =>
      matchingVms(await this.#list.get(suffices, signal), names);
    const found = await find((stamp) => this.#isValid(stamp, freshness));
    if (found.every(({ vm, stamp }) => this.#isValid(stamp, freshness, vmKey(vm.id)))) return found.map(({ vm }) => vm);
    const atLeast = this.#versions.next();
    return (await find(({ version }) => version >= atLeast)).map(({ vm }) => vm);
  }

  /** Takes over a list that was read elsewhere. */
  accept(vms: readonly Vm[], stamp: ReadStamp): void {
    this.#list.accept(toList(vms, stamp), stamp);
  }

  /** Updates the list by the answer to a change of ours, which has ended with `stamp`. */
  amend(method: string, params: readonly unknown[], answer: unknown, stamp: ReadStamp): void {
    const list = this.#list.known?.value;
    if (method === 'vm.create') {
      const vm = Vm.safeParse(answer).data;
      if (vm && list) {
        this.#versions.writes.mark(vmKey(vm.id), stamp);
        list.set(vm.id, { vm, stamp });
      } else this.#versions.outdateAll();
    } else if (method === 'vm.delete') {
      list?.delete(Number(params[0]));
    } else if (deviceChanges.includes(method)) {
      this.#amendDevice(method, answer, stamp);
    }
  }

  /** Remembers that the VM was told to shut down, so that the end of the job proves that it is off. */
  rememberStop(vm: Vm, job: number, observeAt: number): void {
    const known = this.#list.known?.value.get(vm.id);
    if (known) this.#stops.set(uuidOf(vm), { ...known, job, observeAt, version: this.#writtenVersion(vm.id) });
  }

  /** The VM was read again, and is still shutting down. */
  delayStop(vm: Vm, observeAt: number): void {
    const stop = this.#stops.get(uuidOf(vm));
    const known = this.#list.known?.value.get(vm.id);
    if (stop && known) this.#stops.set(uuidOf(vm), { ...stop, ...known, observeAt });
  }

  forgetStop(vm: Vm): void {
    this.#stops.delete(uuidOf(vm));
  }

  /** Undefined also when anything else may have happened to the VM since. */
  pendingStop(uuid: string): PendingStop | undefined {
    const stop = this.#stops.get(uuid);
    if (!stop || !this.#isValid(stop.stamp, {})) return undefined;
    return stop.version === this.#writtenVersion(stop.vm.id) ? stop : undefined;
  }

  /** The job of the stop has succeeded, so the VM is off. Its other state keeps its age. */
  noteStopped({ vm, stamp }: PendingStop): void {
    const { version } = this.#versions.stamp();
    const stopped = { ...vm, status: { state: 'STOPPED' } };
    this.#list.known?.value.set(vm.id, { vm: stopped, stamp: { version, at: stamp.at } });
  }

  #amendDevice(method: string, answer: unknown, stamp: ReadStamp): void {
    const device = VmDevice.safeParse(answer).data;
    const id = device?.vm;
    // The answer to a deletion does not tell whose device it was.
    if (typeof id === 'number') this.#amendOwner(id, method === 'vm.device.create' ? device : undefined, stamp);
    else this.#versions.outdateAll();
  }

  /** Adds a new device to its VM. After any other change of a device the VM is read again. */
  #amendOwner(id: number, added: VmDevice | undefined, stamp: ReadStamp): void {
    const list = this.#list.known?.value;
    const known = list?.get(id);
    const changedAt = Math.max(this.#writtenVersion(id), this.#versions.outdatedAt);
    this.#versions.writes.mark(vmKey(id), stamp);
    if (!added || !known || known.stamp.version < changedAt) return;
    // TrueNAS moves other devices, because it keeps no two at one place.
    if (known.vm.devices.some(({ order }) => order === added.order)) return;
    const vm = { ...known.vm, devices: [...known.vm.devices, added] };
    list?.set(id, { vm, stamp: { version: stamp.version, at: known.stamp.at } });
  }

  #writtenVersion(id: number): number {
    return this.#versions.writes.versionOf(vmKey(id));
  }

  #isValid(stamp: ReadStamp, freshness: ReadFreshness, key?: string): boolean {
    const { writes, now } = this.#versions;
    if (key === undefined) return this.#versions.isValid(stamp, freshness, 0, this.#hasEvents);
    return this.#versions.isValid(stamp, freshness, writes.versionOf(key), this.#hasEvents && !writes.isEcho(key, now));
  }

  get #hasEvents(): boolean {
    const { changes } = this.#nas;
    return changes.isSubscribedTo('vm.query') && changes.isSubscribedTo('vm.device.query');
  }
}

const uuidOf = ({ uuid }: Vm): string => uuid?.toLowerCase() ?? '';

const matchingVms = (list: VmList, { uuid, vmName }: VmNames): KnownVm[] =>
  [...list.values()].filter(({ vm }) => uuidOf(vm) === uuid || vm.name === vmName);

const toList = (vms: readonly Vm[], stamp: ReadStamp): VmList => new Map(vms.map((vm) => [vm.id, { vm, stamp }]));

/** A call that began before a change of ours may miss it, so the answer to the change is kept. */
function merge(list: VmList, { version }: ReadStamp, known: VmList | undefined): VmList {
  for (const [id, one] of known ?? []) if (one.stamp.version > version) list.set(id, one);
  return list;
}
