import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  connect,
  makeConfig,
  makeSecrets,
  nextMac,
  startWorld,
  type TestSecrets,
  type TestWorld,
  until,
} from './testing.ts';

let world: TestWorld;
let secrets: TestSecrets;

beforeAll(async () => {
  world = await startWorld();
  secrets = await makeSecrets();
});
afterAll(() => world.close());

it('lives from ISO and cidata to a ready cluster', async () => {
  const address = world.address();
  const config = makeConfig({
    secrets,
    role: 'controlplane',
    hostname: 'one',
    mac: nextMac(),
    address,
    endpoint: `https://${address}:6443`,
    factory: world.factory.place,
  });
  const machine = world.machine('one', { 'user-data': config, 'meta-data': 'local-hostname: one\n' });
  const running = world.start(machine);
  const client = await connect(address, secrets);
  const version = await until('an answer', () => client.machine.version({}));
  expect(version.messages[0]?.version?.tag).toBe('v1.13.9');
  await until('running from disk', () =>
    world.runner.node('one')?.console.some((line) => line.includes('from disk')) ? true : undefined,
  ).catch((error) => {
    console.log(world.runner.nodes());
    throw error;
  });
  await until('bootstrap', () => client.machine.bootstrap({}));
  await until('ready', () => (world.runner.node('one')?.ready ? true : undefined)).catch((error) => {
    console.log(JSON.stringify(world.runner.nodes(), null, 1));
    throw error;
  });
  client.close();
  running.kill();
  await running.exited;
});
