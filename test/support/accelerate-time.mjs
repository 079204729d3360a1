// Preload of a program whose time runs faster: `HURRY=10 node --import ./accelerate-time.mjs program.js`. Waits and
// deadlines get shorter and the monotonic clock runs faster; dates are unchanged.
import { syncBuiltinESMExports } from 'node:module';
import process from 'node:process';
import timers from 'node:timers';
import promises from 'node:timers/promises';

const speed = Number(process.env.HURRY ?? '1');
const keep = (hurried, plain) => Object.defineProperties(hurried, Object.getOwnPropertyDescriptors(plain));

for (const name of ['setTimeout', 'setInterval']) {
  const plain = timers[name];
  const hurried = keep((work, ms = 0, ...words) => plain(work, ms / speed, ...words), plain);
  timers[name] = hurried;
  globalThis[name] = hurried;
}
const pause = promises.setTimeout;
promises.setTimeout = (ms = 0, ...words) => pause(ms / speed, ...words);
const now = performance.now.bind(performance);
performance.now = () => now() * speed;
syncBuiltinESMExports();
