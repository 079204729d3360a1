import { runControllers } from './controllers/controllers.ts';
import { runDefinitions } from './establish.ts';
import type { TokenKey } from './jwt.ts';
import type { Storage } from './store.ts';

interface Attendance {
  servers: number;
  readonly stop: () => void;
}

const attended = new WeakMap<Storage, { definitions?: Attendance; controllers?: Attendance }>();

/** Loops that work on a store run once, however many servers share it, until the last of them leaves. */
export function attendStore(
  storage: Storage,
  options: { controllers: boolean; rootCa: string; key: TokenKey },
): () => void {
  const here = attended.get(storage) ?? {};
  attended.set(storage, here);
  const parts = options.controllers ? (['definitions', 'controllers'] as const) : (['definitions'] as const);
  for (const part of parts) {
    const start = () =>
      part === 'definitions' ? runDefinitions(storage) : runControllers(storage, options.rootCa, options.key);
    here[part] ??= { servers: 0, stop: start() };
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
