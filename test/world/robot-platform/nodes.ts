import { expect } from 'vitest';
import type { Facts } from '../../../src/engine/platform.ts';
import { markOf } from '../../../src/platforms/hetzner-robot/mark.ts';
import { createSecretsBundle, type SecretsBundle } from '../../../src/talos/secrets.ts';
import { nodeConfig } from '../../support/node-config.ts';
import type { Durable, Process, Scene } from './scene.ts';

export const newSecrets = (): Promise<SecretsBundle> =>
  createSecretsBundle({ now: new Date(), serviceAccountKeyBits: 2048 });

/** What lies on the first disk of a server that {@link becomeNode} takes. */
export const withTalos = { disks: [{ content: { kind: 'talos', version: '1.13.9', configured: false } }] };

/** A machine that has its server, about to be released. */
export interface Held {
  readonly number: number;
  readonly machine: string;
  readonly durable: Durable;
}

/** As if a machine had been provisioned: its Host is held, its server marked, and its disk written to. */
export async function hold(scene: Scene, life: Process, number: number): Promise<Held> {
  const { address, machine: server } = scene.room.server(number);
  const machine = `shop-${number}`;
  const { hosts, owner } = life.context(machine, {});
  scene.hosts.add(number);
  const taken = await hosts.claim(({ spec }) => (spec.serverNumber === number ? undefined : 'are others'));
  if ('rejected' in taken) throw new Error(`nobody can have server ${number}`);
  const formerName = scene.room.server(number).name;
  scene.room.server(number).name = markOf(owner);
  const { nics, disks } = server.box.hardware;
  const [root] = disks;
  const facts: Facts = {
    ...{ address: address ?? '', mac: nics[0]?.mac ?? '', formerName, operation: 'an-installation' },
    ...{ rootSerial: root?.serial ?? '', rootWwn: root?.wwn ?? '' },
  };
  const since = scene.clock.now().toISOString();
  return { number, machine, durable: { progress: { plan: 'release', step: '', since, failures: 0, facts } } };
}

/** The Talos of a server that somebody holds gets a configuration of the scene's cluster, and answers as its node. */
export async function becomeNode(scene: Scene, life: Process, { number, machine, durable }: Held): Promise<void> {
  const facts = durable.progress?.facts ?? {};
  const { maintenance, ownNode } = life.context(machine, facts);
  const address = String(facts['address']);
  const bundle = scene.cluster;
  if (!bundle) throw new Error('the scene has no cluster');
  const config = nodeConfig({
    ...{ bundle, hostname: machine, address, factoryUrl: scene.factory.line.url },
    schematic: { extensions: [], kernelArguments: [] },
    hardware: {
      ...{ installDisk: '/dev/nvme0n1', imagePlatform: 'metal', providerId: `hetzner-robot://${number}` },
      links: [{ mac: String(facts['mac']), addresses: [`${address}/32`] }],
    },
  });
  const client = maintenance(address);
  const isNode = async (): Promise<boolean> => {
    // Its answer may get lost: who takes a configuration closes at once. Only the certificate tells.
    await client.apply(config).catch(() => {});
    return await ownNode(address).answers();
  };
  await expect.poll(isNode, { timeout: 40_000, interval: 200 }).toBe(true);
  await client.close();
}
