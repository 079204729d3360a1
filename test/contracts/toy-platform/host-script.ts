/**
 * Runs in a copy of the project that has the toy platform for servers: a Host of it is identified and inspected by the
 * real controllers. Prints what was seen as JSON.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Host } from '../../../src/api/host.ts';
import { annotations, group, version } from '../../../src/api/names.ts';
import { Testbed } from '../../e2e/support/testbed/testbed.ts';
import { eventually } from '../../support/eventually.ts';

const folder = mkdtempSync(join(tmpdir(), 'toy-servers-'));
mkdirSync(join(folder, 'rack-7'));
for (const name of ['a.log', 'b.log', 'c.txt']) writeFileSync(join(folder, 'rack-7', name), '');
const testbed = await Testbed.open({ subnet: '127.42.169' });
const { objects, platform } = testbed;

const createHost = async (name: string, serverID: string, sections: object = { toyMetal: { ending: '.log' } }) =>
  await platform.create(Host, {
    ...{ apiVersion: `${group}/${version}`, kind: 'Host' },
    metadata: { name, annotations: { [annotations.inspect]: '' } },
    spec: { serverID, ...sections, expect: { product: 'folder' } } as never,
  });
const rejection = async (serverID: string, sections?: object): Promise<string> =>
  await createHost('rejected', serverID, sections).then(
    () => 'accepted',
    (error: Error) => error.message,
  );

try {
  testbed.provider.start();
  await objects.credentials('toy', { token: 'x' });
  await objects.config('metal', {
    change: (spec) => {
      const section = { folder, credentialsRef: { name: 'toy' }, sizes: [{ name: 'small' }] };
      Object.assign(spec, { truenas: undefined, toyMetal: section });
    },
  });
  const rejected = [
    await rejection('7'),
    await rejection('7', {}),
    await rejection('7', { hetznerRobot: {}, toyMetal: {} }),
  ];
  await createHost('one', 'rack-7');
  await createHost('other', '7', { hetznerRobot: {} });
  const statusOf = async (name: string) => (await platform.get(Host, { name })).status;
  await eventually('the Host was inspected', async () => {
    const { state, conditions = [] } = (await statusOf('one')) ?? {};
    return state === 'Available' && conditions.some(({ type, status }) => type === 'Inspected' && status === 'True');
  });
  const usableOf = async () => (await statusOf('other'))?.conditions.find(({ type }) => type === 'Usable');
  await eventually('the other Host has a reason', async () => (await usableOf()) !== undefined);
  const { message } = (await usableOf()) ?? {};
  const { toyMetal } = (await statusOf('one')) as { toyMetal?: object };
  process.stdout.write(JSON.stringify({ toyMetal, rejected, message, faults: testbed.faults() }));
} catch (error) {
  process.stderr.write(testbed.tail());
  throw error;
} finally {
  await testbed.close();
  rmSync(folder, { recursive: true, force: true });
}
