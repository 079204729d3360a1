import { Host, type HostStatus } from '../api/host.ts';
import type { Machine } from '../api/machine.ts';
import type { HostNote, Hosts, HostView, Rejections } from '../engine/host.ts';
import type { KubeClient } from '../kube/client.ts';
import { isConflict, isObjectNotFound } from '../kube/errors.ts';
import type { EventRecorder } from '../kube/events.ts';
import type { Reflector } from '../kube/reflector.ts';
import type { Clock } from '../lib/clock.ts';
import { ProviderError } from '../lib/errors.ts';
import { tellChange } from './host/events.ts';
import { type Refuse, sift } from './host/sift.ts';
import { describeUse, heldOf, rested, statusOf, toView } from './host/standing.ts';
import { saveStatus } from './objects.ts';

interface Parts {
  readonly kube: KubeClient;
  /** Indexes `machine` by the UID of the holder, and `server` by number. Says where to look, never how it is. */
  readonly store: Pick<Reflector<Host>, 'list' | 'by'>;
  readonly events: Pick<EventRecorder, 'record'>;
  readonly clock: Clock;
}

/** The controller of Hosts writes to their status as well, and is often woken by what is written here. */
const attempts = 5;

/**
 * Which Machine holds which Host, as the status of the Host says. A claim is one write under the optimistic lock of what
 * was just read from the API server, so that it is the API server that settles who has it.
 */
export class HostClaims {
  readonly #parts: Parts;
  /** Hosts that a Machine of this process is about to claim: another one need not lose against it. */
  readonly #trying = new Set<string>();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** The Hosts for the steps of one Machine, which was read from the API server. */
  of(machine: Machine, signal: AbortSignal): Hosts {
    return {
      servers: () => this.servers(),
      held: async () => {
        const host = await this.#held(machine, signal);
        return host && viewOf(host);
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

  async #claim(machine: Machine, refuse: Refuse, signal: AbortSignal): Promise<HostView | { rejected: Rejections }> {
    if (machine.metadata.deletionTimestamp)
      throw new ProviderError('INTERNAL', 'A Machine that is being deleted claimed a Host.');
    const known = await this.#hinted(machine, signal);
    if (known) return viewOf(known);
    const { fitting, rejected } = sift(this.#parts.store.list(), refuse);
    if (fitting.length === 0) return { rejected };
    // What the store shows may be older than a claim that was made for this Machine.
    const { items } = await this.#parts.kube.list(Host, {}, signal);
    const held = heldOf(items.filter((host) => isHolder(machine, host)));
    if (held) return viewOf(held);
    for (const host of sift(items, refuse).fitting) {
      const claimed = await this.#try(host, machine, refuse, signal);
      if (claimed) return viewOf(claimed);
    }
    return { rejected: sift(items, (host) => refuse(host) ?? 'were given to other machines a moment ago').rejected };
  }

  /** Undefined when somebody else was faster, or it is not as it was any more. */
  async #try({ metadata: { name } }: Host, machine: Machine, refuse: Refuse, signal: AbortSignal) {
    if (this.#trying.has(name)) return undefined;
    this.#trying.add(name);
    try {
      const host = await this.#parts.kube.find(Host, { name }, signal);
      if (!host || sift([host], refuse).fitting.length === 0) return undefined;
      const since = this.#parts.clock.now().toISOString();
      const machineRef = { name: machine.metadata.name, uid: machine.metadata.uid ?? '', since };
      const use = { state: 'Claimed', message: describeUse('Claimed', machineRef.name) } as const;
      return await this.#save(host, { ...statusOf(host), ...use, machineRef }, signal);
    } catch (error) {
      if (isConflict(error) || isObjectNotFound(error)) return undefined;
      throw error;
    } finally {
      this.#trying.delete(name);
    }
  }

  async #note(machine: Machine, { state, ...found }: HostNote, signal: AbortSignal): Promise<void> {
    const isHeld = await this.#change(machine, signal, (host) => {
      const { task, ...rest } = statusOf(host);
      // Whatever a person asked for of a server that serves is over when it is taken down.
      const kept = task && state !== 'Deprovisioning' ? { task } : {};
      const use = state && { state, message: describeUse(state, machine.metadata.name) };
      return { ...rest, ...kept, ...use, ...found };
    });
    if (!isHeld) throw new ProviderError('HOST_LOST');
  }

  async #release(machine: Machine, signal: AbortSignal): Promise<void> {
    const letGo = (host: Host): HostStatus => {
      const { machineRef: _, task: __, ...rest } = statusOf(host);
      return { ...rest, ...rested(host) };
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
        if (!isConflict(error) || attempt === attempts) throw error;
      }
    }
  }

  async #save(host: Host, status: HostStatus, signal: AbortSignal): Promise<Host> {
    const written = await saveStatus(this.#parts.kube, Host, host, status, signal, { locked: true });
    tellChange(this.#parts.events, host, status);
    return written ?? host;
  }

  /** The one that it holds, as it is right now. */
  async #held(machine: Machine, signal: AbortSignal): Promise<Host | undefined> {
    const hinted = await this.#hinted(machine, signal);
    if (hinted) return hinted;
    const { items } = await this.#parts.kube.list(Host, {}, signal);
    return heldOf(items.filter((host) => isHolder(machine, host)));
  }

  /** The same, if the store knows where to look. */
  async #hinted(machine: Machine, signal: AbortSignal): Promise<Host | undefined> {
    const hint = heldOf(this.#parts.store.by('machine', machine.metadata.uid ?? ''));
    const host = hint && (await this.#parts.kube.find(Host, { name: hint.metadata.name }, signal));
    return host && isHolder(machine, host) ? host : undefined;
  }
}

const isHolder = ({ metadata: { uid } }: Machine, { status }: Host): boolean =>
  uid !== undefined && status?.machineRef?.uid === uid;

function viewOf(host: Host): HostView {
  const view = toView(host);
  if (view) return view;
  throw new ProviderError('CONFIG_INVALID', `The spec of Host ${host.metadata.name} is not valid. Correct it.`);
}
