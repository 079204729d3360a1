import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';

/** Nothing waits between the reads, so that no collection of V8's own comes in between. */
const program = `
  import { collectYoungGarbage } from './src/lib/young-garbage.ts';
  const megabytes = () => process.memoryUsage().arrayBuffers / 2 ** 20;
  const before = megabytes();
  for (let count = 0; count < 100; count += 1) Buffer.allocUnsafeSlow(64 * 1024);
  const full = megabytes() - before;
  collectYoungGarbage();
  process.stdout.write(JSON.stringify({ full, left: megabytes() - before }));
`;

it('unreferenced buffers are freed', () => {
  // V8 would free them in another thread. In a process of its own, buffers of other tests do not count.
  const args = ['--single-threaded-gc', '--import', 'tsx', '--input-type=module', '--eval', program];
  const { full, left } = JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' }));
  expect(full).toBeGreaterThan(4);
  expect(left).toBeLessThan(2);
});
