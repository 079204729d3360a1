import { expect, it } from 'vitest';
import { collectYoungGarbage } from './young-garbage.ts';

const megabytes = () => process.memoryUsage().arrayBuffers / 2 ** 20;

it('unreferenced buffers are freed', async () => {
  collectYoungGarbage();
  const before = megabytes();
  for (let count = 0; count < 100; count += 1) Buffer.allocUnsafeSlow(64 * 1024);
  expect(megabytes() - before).toBeGreaterThan(4);
  collectYoungGarbage();
  // V8 frees them in another thread.
  await expect.poll(() => megabytes() - before, { timeout: 10_000 }).toBeLessThan(2);
});
