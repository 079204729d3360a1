import { createServer } from 'node:net';
import { expect, it } from 'vitest';
import { chooseSshPort } from '../../../world/robot/setup/choose-ssh-port.ts';

it('is the requested one', async () => {
  expect(await chooseSshPort('2222', '127.0.0.1')).toBe(2222);
});

it.each(['0', '65536', 'ssh', ''])('%j is refused', async (word) => {
  await expect(chooseSshPort(word, '127.0.0.1')).rejects.toThrow(/--ssh-port/);
});

it('is any free one where 22 is not available', async () => {
  const others = createServer();
  await new Promise((resolve) => others.listen(0, '127.0.0.1', () => resolve(undefined)));
  try {
    const port = await chooseSshPort('any', '127.0.0.1');
    expect(port).toBeGreaterThan(1023);
    expect(others.address()).not.toMatchObject({ port });
  } finally {
    await new Promise((resolve) => others.close(resolve));
  }
});

it('is the default where there is no address to try it on', async () => {
  expect(await chooseSshPort(undefined, undefined)).toBe(22);
});
