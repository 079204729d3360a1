import { expect } from 'vitest';
import type { Facts } from '../../../src/engine/step.ts';
import { markOf } from '../../../src/platforms/hetzner-robot/mark.ts';
import { createSecretsBundle, type SecretsBundle } from '../../../src/talos/secrets/secrets-bundle.ts';
import { renderStandaloneConfig } from '../../support/fixtures/node-config.ts';
import type { MachineRecord, RobotPlatformFixture, RobotProviderProcess } from './robot-platform-fixture.ts';

export const newSecrets = (): Promise<SecretsBundle> =>
  createSecretsBundle({ now: new Date(), serviceAccountKeyBits: 2048 });

/** Content of the first disk of a server for {@link joinAsNode}. */
export const seedWithTalos = { disks: [{ content: { kind: 'talos', version: '1.13.9', configured: false } }] };

/** A machine with its server, before its release. */
export interface ProvisionedServer {
  readonly number: number;
  readonly machine: string;
  readonly durable: MachineRecord;
}

/** Creates the state after a provisioning: the Host is held, the server is marked, and its disk is written. */
export async function claimServer(
  fixture: RobotPlatformFixture,
  life: RobotProviderProcess,
  number: number,
): Promise<ProvisionedServer> {
  const { address, machine: server } = fixture.simulator.server(number);
  const machine = `shop-${number}`;
  const { hosts, owner } = life.context(machine, {});
  fixture.hosts.add(number);
  const taken = await hosts.claim(({ spec }) => (spec.serverID === `${number}` ? undefined : 'are others'));
  if ('rejected' in taken) throw new Error(`nobody can have server ${number}`);
  const formerName = fixture.simulator.server(number).name;
  fixture.simulator.server(number).name = markOf(owner);
  const { nics, disks } = server.box.hardware;
  const [root] = disks;
  const facts: Facts = {
    ...{ address: address ?? '', mac: nics[0]?.mac ?? '', formerName, operation: 'an-installation' },
    ...{ rootSerial: root?.serial ?? '', rootWwn: root?.wwn ?? '' },
  };
  const since = fixture.clock.now().toISOString();
  return { number, machine, durable: { progress: { plan: 'release', step: '', since, failures: 0, facts } } };
}

/** Applies a configuration of the fixture's cluster to the Talos of a held server, which then answers as a node. */
export async function joinAsNode(
  fixture: RobotPlatformFixture,
  life: RobotProviderProcess,
  { number, machine, durable }: ProvisionedServer,
): Promise<void> {
  const facts = durable.progress?.facts ?? {};
  const { maintenance, ownNode } = life.context(machine, facts);
  const address = String(facts['address']);
  const bundle = fixture.cluster;
  if (!bundle) throw new Error('the scene has no cluster');
  const config = renderStandaloneConfig({
    ...{ bundle, hostname: machine, address, factoryUrl: fixture.factory.line.url },
    schematic: { extensions: [], kernelArguments: [] },
    hardware: {
      ...{ installDisk: '/dev/nvme0n1', imagePlatform: 'metal', providerId: `hetzner-robot://${number}` },
      links: [{ mac: String(facts['mac']), addresses: [`${address}/32`] }],
    },
  });
  const client = maintenance(address);
  const isNode = async (): Promise<boolean> => {
    // The reply may get lost: a node closes its connections when it accepts a configuration. Only the certificate
    // proves it.
    await client.apply(config).catch(() => {});
    return await ownNode(address).answers();
  };
  await expect.poll(isNode, { timeout: 40_000, interval: 200 }).toBe(true);
  await client.close();
}
