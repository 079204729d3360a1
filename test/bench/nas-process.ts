import { room, siteHere, start } from '../world/truenas-platform/scene.ts';
import { serve } from './child.ts';
import { latencyMs, roomy } from './nas-calls.ts';

/** A NAS that has nothing yet. It answers at once until it is asked for the first time, and from then on each call takes its time. */
await serve(async () => {
  await start({ seed: roomy });
  const tell = (): object => {
    room.room.setLatency('*', latencyMs);
    return {};
  };
  return { ready: siteHere(), tell };
});
