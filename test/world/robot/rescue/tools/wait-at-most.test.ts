import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { createRescueFixture } from '../rescue-fixture.ts';

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

it('curl gives up a download that stands still for as long as --speed-time says', async () => {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-length': 1000 });
    response.write('begun');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const box = createRescueFixture({ timeScale: 0.001 });
  closers.push(
    () => box.close(),
    () => server.closeAllConnections(),
    () => server.close(),
  );
  const { port } = server.address() as AddressInfo;
  const curl = `curl --fail --silent --show-error --location --speed-limit 1000 --speed-time 60 --url http://127.0.0.1:${port}/image`;
  expect(await box.sh(curl)).toEqual({
    stdout: 'begun',
    stderr: 'curl: (28) Operation too slow. Less than 1000 bytes/sec transferred the last 60 seconds\n',
    status: 28,
  });
});
