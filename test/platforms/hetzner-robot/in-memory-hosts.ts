import { setTimeout as delay } from 'node:timers/promises';
import type { HostClaim, HostSpecView, HostStatusUpdate, HostView } from '../../../src/engine/host.ts';

type Written = HostView & { heldBy: string | undefined };

/** Hosts that only a test can change; they outlive the process, as objects at the API server do. */
export class InMemoryHosts {
  readonly all = new Map<string, Written>();

  add(number: number, words: Partial<HostSpecView> = {}, labels: Record<string, string> = {}): void {
    const spec: HostSpecView = {
      ...{ serverID: `${number}`, expect: {}, roles: ['controlplane', 'worker'], wipe: false, protectedDisks: [] },
      ...{ rootDisk: { raidMembers: [] }, maintenance: false },
      ...words,
    };
    const name = `server-${number}`;
    this.all.set(name, {
      name,
      labels,
      spec,
      platformSpec: { resetTypes: ['hw', 'power', 'sw'] },
      state: 'Available',
      server: undefined,
      hardware: undefined,
      platformStatus: undefined,
      heldBy: undefined,
    });
  }

  of(number: number): Written {
    const host = this.all.get(`server-${number}`);
    if (!host) throw new RangeError(`no Host for ${number}`);
    return host;
  }

  /** Changes the spec, as a user does. */
  change(number: number, words: Partial<HostSpecView>): void {
    const host = this.of(number);
    this.#write(host, { spec: { ...host.spec, ...words } });
  }

  /** Changes the status, as the tasks of a Host do. */
  update(number: number, change: HostStatusUpdate): void {
    this.#write(this.of(number), change);
  }

  /** The Hosts as one machine may use them. */
  for(machine: string): HostClaim {
    const held = () => [...this.all.values()].find(({ heldBy }) => heldBy === machine);
    return {
      servers: () => new Set([...this.all.values()].map(({ spec }) => spec.serverID)),
      current: async () => {
        await delay(0);
        return held();
      },
      claim: async (refuse) => {
        await delay(0);
        const mine = held();
        if (mine) return mine;
        const rejected = new Map<string, number>();
        for (const host of this.all.values()) {
          const reason = host.heldBy === undefined ? refuse(host) : 'held by another machine';
          if (reason === undefined) return this.#write(host, { heldBy: machine, state: 'Claimed' });
          rejected.set(reason, (rejected.get(reason) ?? 0) + 1);
        }
        return { rejected };
      },
      updateStatus: async (change: HostStatusUpdate) => {
        await delay(0);
        const host = held();
        if (!host) throw new Error(`${machine} holds no Host`);
        this.#write(host, change);
      },
      release: async () => {
        await delay(0);
        const host = held();
        if (host) this.#write(host, { heldBy: undefined, state: 'Available' });
      },
      quarantine: async () => {
        await delay(0);
        const host = held();
        if (host) this.#write(host, { heldBy: undefined, state: 'Failed' });
      },
    };
  }

  #write(host: Written, change: Partial<Written>): Written {
    const written = { ...host, ...change };
    this.all.set(host.name, written);
    return written;
  }
}
