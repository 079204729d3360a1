import { ProviderError } from '../../src/lib/errors.ts';
import { SecretString } from '../../src/lib/secret-string.ts';
import type { TalosClient } from '../../src/talos/client/client.ts';
import type { UpgradeResult } from '../../src/talos/client/upgrade-calls.ts';

export const config = (more: string): SecretString =>
  new SecretString(`version: v1alpha1\nmachine:\n  type: worker\n  ${more}\n`);
export const plain = config('');

interface System {
  readonly version: string;
  readonly schematic: string;
}

/** The end of the process, at any point. */
export class Killed extends Error {}

/** A node in memory: two boot slots, a stored and an active configuration, one boot after the other. */
export class NodeModel {
  running: System = { version: '1.13.7', schematic: 'aaaa' };
  next: System | undefined;
  boot = 1;
  stored = plain;
  active = plain;
  /** The kubelet: the version of its specification, and its start. `health` undefined: not checked yet; it is stopped while `start` is 0. */
  kubelet = { version: 1, start: 1, health: true as boolean | undefined };
  /** The calls that change something. */
  readonly effects: string[] = [];
  /** Why the node rejects a configuration. */
  rejection: string | undefined;
  mode: 'no-reboot' | 'reboot' = 'no-reboot';
  fallsBack = false;
  isMissingImage = false;
  leads = false;
  isOff = false;
  writeResult: UpgradeResult = { kind: 'written' };
  /** Number of calls until the process is killed. */
  callsLeft = Number.POSITIVE_INFINITY;

  count(effect?: string): void {
    if (this.callsLeft <= 0) throw new Killed();
    this.callsLeft -= 1;
    if (effect !== undefined) this.effects.push(effect);
  }

  restart(): void {
    this.boot += 1;
    if (this.next && !this.fallsBack) this.running = this.next;
    this.next = undefined;
    this.active = this.stored;
  }

  installed(image: string): System {
    const [, schematic = '', version = ''] = /\/(\w+):v([\d.]+)/.exec(image) ?? [];
    return { version, schematic };
  }

  client(): TalosClient {
    const calls = {
      version: async () => ({ version: this.running.version, platform: 'nocloud' }),
      bootId: async () => `boot-${this.boot}`,
      machineStatus: async () => ({ stage: 'running', ready: true, unmetConditions: [] }),
      listResources: async ({ type }: { type: string }) =>
        type.startsWith('Extension')
          ? [{ id: '0', spec: { metadata: { name: 'schematic', version: this.running.schematic } } }]
          : [],
      findResource: async ({ type }: { type: string }, id: string) => {
        if (type.startsWith('MachineConfigs'))
          return { id, spec: (id === 'persistent' ? this.stored : this.active).reveal() };
        const { version, start, health } = this.kubelet;
        if (!type.startsWith('Services'))
          return { id, version: String(version), spec: { image: 'ghcr.io/siderolabs/kubelet:v1.35.4' } };
        const spec = { running: true, healthy: health === true, unknown: health === undefined };
        return start === 0 ? undefined : { id, created: new Date(start), spec };
      },
      tryConfiguration: async () => {
        if (this.rejection !== undefined) throw new ProviderError('TALOS_CONFIG_REFUSED', this.rejection);
        return this.mode;
      },
      applyConfiguration: async (given: SecretString, mode: string) => {
        this.count(`apply ${mode}`);
        this.stored = given;
        if (mode !== 'staged') this.active = given;
      },
      etcdMembers: async () => [{ id: '1' }, { id: '2' }, { id: '3' }],
      etcdStatus: async () => ({ memberId: '1', leaderId: this.leads ? '1' : '2' }),
      forfeitLeadership: async () => {
        this.count('forfeit');
        this.leads = false;
      },
      pullImage: async (image: string) => {
        this.count('pull');
        if (this.isMissingImage) throw new ProviderError('TALOS_NOT_FOUND', 'no such image.');
        return image;
      },
      writeSystem: async (image: string) => {
        this.count(`write ${this.installed(image).version}`);
        if (this.writeResult.kind === 'written') this.next = this.installed(image);
        return this.writeResult;
      },
      pullImageLegacy: async () => this.count('pull'),
      upgradeLegacy: async (image: string) => {
        this.count(`legacy ${this.installed(image).version}`);
        this.next = this.installed(image);
        this.restart();
      },
      reboot: async () => {
        this.count('reboot');
        this.restart();
      },
      close: async () => undefined,
    };
    const counted = Object.entries(calls).map(([name, call]) => [
      name,
      async (...args: never[]) => {
        if (this.callsLeft <= 0) throw new Killed();
        if (this.isOff && name !== 'close') throw new ProviderError('TALOS_UNREACHABLE', 'no answer.');
        return await (call as (...given: never[]) => Promise<unknown>)(...args);
      },
    ]);
    return Object.fromEntries(counted) as TalosClient;
  }
}
