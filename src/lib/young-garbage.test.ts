import { expect, it } from 'vitest';
import { collectYoungGarbage } from './young-garbage.ts';

it('buffers that nobody holds any more are freed at once', () => {
  collectYoungGarbage();
  const before = process.memoryUsage().arrayBuffers;
  for (let count = 0; count < 100; count += 1) Buffer.allocUnsafeSlow(64 * 1024);
  expect(process.memoryUsage().arrayBuffers - before).toBeGreaterThan(4 * 2 ** 20);
  collectYoungGarbage();
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(2 * 2 ** 20);
});
