import { Host, type HostStatus, hostsOfPlatform, serverIDsOf } from '../../api/host.ts';
import type { Machine } from '../../api/machine.ts';
import { annotations } from '../../api/names.ts';
import type { HostClaim, HostStatusUpdate, HostView, RejectionCounts } from '../../engine/host.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { isConflict, isObjectNotFound } from '../../kube/errors.ts';
import type { EventRecorder } from '../../kube/event-recorder.ts';
import type { Reflector } from '../../kube/reflector/reflector.ts';
import type { Clock } from '../../lib/clock.ts';
import { ProviderError } from '../../lib/errors.ts';
import { clusterOfMachine } from '../cluster/identity.ts';
import { type AddressLeases, addressHolder } from '../shared/addresses/address-leases.ts';
import { patchStatus } from '../shared/objects.ts';
import {
  chooseHeldHost,
  describeHostUse,
  describeInvalidSpec,
  hostStatusOf,
  stateAfterRelease,
  toHostView,
  toStatusFields,
} from './availability.ts';
import { recordHostEvents } from './events.ts';
import { filterHosts, type RejectHost } from './filter-hosts.ts';

interface HostClaimsOptions {
  readonly kube: KubeClient;
  readonly addresses: Pick<AddressLeases, 'transfer'>;
  /**
   * Indexes `machine` by the UID of the holder, and `server` by platform and ID. A hint for the lookup: the Host itself
   * is read from the API server.
   */
  readonly store: Pick<Reflector<Host>, 'list' | 'by'>;
  readonly events: Pick<EventRecorder, 'record'>;
  readonly clock: Clock;
}

/** The Host controller also writes the status, often in response to a claim. */
const maxWriteAttempts = 5;

/**
 * The claims of Machines on Hosts, stored in the status of the Host. A claim is one write with optimistic locking over
 * the version just read from the API server, so that the API server resolves concurrent claims.
 */
export class HostClaims {
  readonly #parts: HostClaimsOptions;
  /** Hosts that a Machine of this process is claiming now: other Machines skip them and avoid a conflict. */
  readonly #trying = new Set<string>();

  constructor(parts: HostClaimsOptions) {
    this.#parts = parts;
  }

  /** The claim interface for the steps of one Machine, which was read from the API server. */
  of(machine: Machine, signal: AbortSignal): HostClaim {
    return {
      servers: () => this.servers(machine.spec.platform),
      current: async () => {
        const host = await this.#held(machine, signal);
        return host && requireHostView(host);
      },
      claim: (refuse) => this.#claim(machine, refuse, signal),
      updateStatus: (change) => this.#note(machine, change, signal),
      release: () => this.#release(machine, signal),
      quarantine: (reason) => this.#quarantine(machine, reason, signal),
    };
  }

  /** IDs of all servers of a platform that have a Host. */
  servers(platform: string): ReadonlySet<string> {
    return serverIDsOf(hostsOfPlatform(this.#parts.store.list(), platform));
  }

  async #claim(
    machine: Machine,
    refuse: RejectHost,
    signal: AbortSignal,
  ): Promise<HostView | { rejected: RejectionCounts }> {
    if (machine.metadata.deletionTimestamp)
      throw new ProviderError('INTERNAL', 'A Machine that is being deleted claimed a Host.');
    const known = await this.#preferred(machine, signal);
    if (known) return requireHostView(known);
    const { platform } = machine.spec;
    const { fitting, rejected } = filterHosts(hostsOfPlatform(this.#parts.store.list(), platform), refuse);
    if (fitting.length === 0) return { rejected };
    // The cache may be older than a claim for this Machine.
    const { items } = await this.#parts.kube.list(Host, {}, signal);
    const held = chooseHeldHost(items.filter((host) => isHolder(machine, host)));
    if (held) return requireHostView(held);
    const candidates = hostsOfPlatform(items, platform);
    for (const host of filterHosts(candidates, refuse).fitting) {
      const claimed = await this.#tryClaim(host, machine, refuse, signal);
      if (claimed) return requireHostView(claimed);
    }
    return {
      rejected: filterHosts(candidates, (host) => refuse(host) ?? 'were given to other machines a moment ago').rejected,
    };
  }

  /** Undefined if another Machine was faster, or the Host has changed. */
  async #tryClaim({ metadata: { name } }: Host, machine: Machine, refuse: RejectHost, signal: AbortSignal) {
    if (this.#trying.has(name)) return undefined;
    this.#trying.add(name);
    try {
      const host = await this.#parts.kube.find(Host, { name }, signal);
      if (!host || filterHosts([host], refuse).fitting.length === 0) return undefined;
      const since = this.#parts.clock.now().toISOString();
      const machineRef = { name: machine.metadata.name, uid: machine.metadata.uid ?? '', since };
      const use = { state: 'Claimed', message: describeHostUse('Claimed', machineRef.name) } as const;
      return await this.#save(host, { ...hostStatusOf(host), ...use, machineRef }, signal);
    } catch (error) {
      if (isConflict(error) || isObjectNotFound(error)) return undefined;
      throw error;
    } finally {
      this.#trying.delete(name);
    }
  }

  async #note(machine: Machine, { state, ...found }: HostStatusUpdate, signal: AbortSignal): Promise<void> {
    const isHeld = await this.#change(machine, signal, (host) => {
      const { task, ...rest } = hostStatusOf(host);
      // Releasing a server in use ends the task that a user requested for it.
      const kept = task && state !== 'Deprovisioning' ? { task } : {};
      const use = state && { state, message: describeHostUse(state, machine.metadata.name) };
      return { ...rest, ...kept, ...use, ...toStatusFields(host, found) };
    });
    if (!isHeld) throw new ProviderError('HOST_LOST');
  }

  async #release(machine: Machine, signal: AbortSignal): Promise<void> {
    const letGo = (host: Host): HostStatus => {
      const { machineRef: _, task: __, ...rest } = hostStatusOf(host);
      return { ...rest, ...stateAfterRelease(host) };
    };
    let held = true;
    while (held) held = await this.#change(machine, signal, letGo);
  }

  /** The reason is written first: a Host that was released without it could be claimed. */
  async #quarantine(machine: Machine, reason: string, signal: AbortSignal): Promise<void> {
    const { kube, addresses } = this.#parts;
    const host = await this.#held(machine, signal);
    if (!host) return;
    const { name } = host.metadata;
    const holder = addressHolder.machine(machine.metadata.name, clusterOfMachine(machine));
    const address = await addresses.transfer(holder, addressHolder.host(name), signal);
    const notes = {
      [annotations.permanentError]: reason,
      ...(address === undefined ? {} : { [annotations.retainedAddress]: address }),
    };
    await kube.merge(Host, { name }, { metadata: { annotations: notes } }, {}, signal);
    await this.#release(machine, signal);
  }

  /** Updates the Host that the Machine holds; false if it holds none. */
  async #change(machine: Machine, signal: AbortSignal, change: (host: Host) => HostStatus): Promise<boolean> {
    for (let attempt = 1; ; attempt += 1) {
      const host = await this.#held(machine, signal);
      if (!host) return false;
      try {
        await this.#save(host, change(host), signal);
        return true;
      } catch (error) {
        if (!isConflict(error) || attempt === maxWriteAttempts) throw error;
      }
    }
  }

  async #save(host: Host, status: HostStatus, signal: AbortSignal): Promise<Host> {
    const written = await patchStatus(this.#parts.kube, Host, host, status, signal, { locked: true });
    recordHostEvents(this.#parts.events, host, status);
    return written ?? host;
  }

  /** The Host that the Machine holds, read from the API server. */
  async #held(machine: Machine, signal: AbortSignal): Promise<Host | undefined> {
    const hinted = await this.#preferred(machine, signal);
    if (hinted) return hinted;
    const { items } = await this.#parts.kube.list(Host, {}, signal);
    return chooseHeldHost(items.filter((host) => isHolder(machine, host)));
  }

  /** The same with the cache as a hint. */
  async #preferred(machine: Machine, signal: AbortSignal): Promise<Host | undefined> {
    const hint = chooseHeldHost(this.#parts.store.by('machine', machine.metadata.uid ?? ''));
    const host = hint && (await this.#parts.kube.find(Host, { name: hint.metadata.name }, signal));
    return host && isHolder(machine, host) ? host : undefined;
  }
}

const isHolder = ({ metadata: { uid } }: Machine, { status }: Host): boolean =>
  uid !== undefined && status?.machineRef?.uid === uid;

function requireHostView(host: Host): HostView {
  const view = toHostView(host);
  if (view) return view;
  throw new ProviderError('CONFIG_INVALID', `Host ${host.metadata.name}: ${describeInvalidSpec(host)}`);
}
