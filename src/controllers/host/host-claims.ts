import { Host, type HostStatus } from '../../api/host.ts';
import type { Machine } from '../../api/machine.ts';
import type { HostClaim, HostStatusUpdate, HostView, RejectionCounts } from '../../engine/capabilities/hosts.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { isConflict, isObjectNotFound } from '../../kube/errors.ts';
import type { EventRecorder } from '../../kube/event-recorder.ts';
import type { Reflector } from '../../kube/reflector/reflector.ts';
import type { Clock } from '../../lib/clock.ts';
import { ProviderError } from '../../lib/errors.ts';
import { patchStatus } from '../shared/objects.ts';
import { chooseHeldHost, describeHostUse, hostStatusOf, stateAfterRelease, toHostView } from './availability.ts';
import { recordHostEvents } from './events.ts';
import { filterHosts, type RejectHost } from './filter-hosts.ts';

interface HostClaimsOptions {
  readonly kube: KubeClient;
  /** Indexes `machine` by the UID of the holder, and `server` by number. Says where to look, never how it is. */
  readonly store: Pick<Reflector<Host>, 'list' | 'by'>;
  readonly events: Pick<EventRecorder, 'record'>;
  readonly clock: Clock;
}

/** The controller of Hosts writes to their status as well, and is often woken by what is written here. */
const maxWriteAttempts = 5;

/**
 * Which Machine holds which Host, as the status of the Host says. A claim is one write under the optimistic lock of what
 * was just read from the API server, so that it is the API server that settles who has it.
 */
export class HostClaims {
  readonly #parts: HostClaimsOptions;
  /** Hosts that a Machine of this process is about to claim: another one need not lose against it. */
  readonly #trying = new Set<string>();

  constructor(parts: HostClaimsOptions) {
    this.#parts = parts;
  }

  /** The Hosts for the steps of one Machine, which was read from the API server. */
  of(machine: Machine, signal: AbortSignal): HostClaim {
    return {
      servers: () => this.servers(),
      held: async () => {
        const host = await this.#held(machine, signal);
        return host && requireHostView(host);
      },
      claim: (refuse) => this.#claim(machine, refuse, signal),
      note: (change) => this.#note(machine, change, signal),
      release: () => this.#release(machine, signal),
    };
  }

  /** Numbers of all servers that have a Host. */
  servers(): ReadonlySet<number> {
    return new Set(this.#parts.store.list().map(({ spec }) => spec.serverNumber));
  }

  async #claim(
    machine: Machine,
    refuse: RejectHost,
    signal: AbortSignal,
  ): Promise<HostView | { rejected: RejectionCounts }> {
    if (machine.metadata.deletionTimestamp)
      throw new ProviderError('INTERNAL', 'A Machine that is being deleted claimed a Host.');
    const known = await this.#hinted(machine, signal);
    if (known) return requireHostView(known);
    const { fitting, rejected } = filterHosts(this.#parts.store.list(), refuse);
    if (fitting.length === 0) return { rejected };
    // What the store shows may be older than a claim that was made for this Machine.
    const { items } = await this.#parts.kube.list(Host, {}, signal);
    const held = chooseHeldHost(items.filter((host) => isHolder(machine, host)));
    if (held) return requireHostView(held);
    for (const host of filterHosts(items, refuse).fitting) {
      const claimed = await this.#try(host, machine, refuse, signal);
      if (claimed) return requireHostView(claimed);
    }
    return {
      rejected: filterHosts(items, (host) => refuse(host) ?? 'were given to other machines a moment ago').rejected,
    };
  }

  /** Undefined when somebody else was faster, or it is not as it was any more. */
  async #try({ metadata: { name } }: Host, machine: Machine, refuse: RejectHost, signal: AbortSignal) {
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
      // Whatever a person asked for of a server that serves is over when it is taken down.
      const kept = task && state !== 'Deprovisioning' ? { task } : {};
      const use = state && { state, message: describeHostUse(state, machine.metadata.name) };
      return { ...rest, ...kept, ...use, ...found };
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

  /** Writes to the one that it holds; false when it holds none. */
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

  /** The one that it holds, as it is right now. */
  async #held(machine: Machine, signal: AbortSignal): Promise<Host | undefined> {
    const hinted = await this.#hinted(machine, signal);
    if (hinted) return hinted;
    const { items } = await this.#parts.kube.list(Host, {}, signal);
    return chooseHeldHost(items.filter((host) => isHolder(machine, host)));
  }

  /** The same, if the store knows where to look. */
  async #hinted(machine: Machine, signal: AbortSignal): Promise<Host | undefined> {
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
  throw new ProviderError('CONFIG_INVALID', `The spec of Host ${host.metadata.name} is not valid. Correct it.`);
}
