import { runControllers } from './controllers.ts';
import { runDefinitions } from './crd.ts';
import type { Storage } from './store.ts';

interface Attendance {
  servers: number;
  readonly stop: () => void;
}

const attended = new WeakMap<Storage, { definitions?: Attendance; controllers?: Attendance }>();

/** Loops that work on a store run once, however many servers share it, until the last of them leaves. */
export function attendStore(storage: Storage, controllers: boolean): () => void {
  const here = attended.get(storage) ?? {};
  attended.set(storage, here);
  const parts = controllers ? (['definitions', 'controllers'] as const) : (['definitions'] as const);
  for (const part of parts) {
    const start = part === 'definitions' ? runDefinitions : runControllers;
    here[part] ??= { servers: 0, stop: start(storage) };
    here[part].servers += 1;
  }
  return () => {
    for (const part of parts) {
      const attendance = here[part];
      if (!attendance) continue;
      attendance.servers -= 1;
      if (attendance.servers > 0) continue;
      attendance.stop();
      delete here[part];
    }
  };
}
