import { runControllers } from '../controllers/controllers.ts';
import { runDefinitionController } from '../definitions/establish.ts';
import type { ObjectStorage } from './store.ts';

interface RunningLoop {
  servers: number;
  readonly stop: () => void;
}

const loopsByStorage = new WeakMap<ObjectStorage, { definitions?: RunningLoop; controllers?: RunningLoop }>();

/** Loops on a store run once for all servers that share it, until the last server ends. */
export function joinStoreLoops(
  storage: ObjectStorage,
  options: { controllers: boolean; workloads: boolean; rootCa: string },
): () => void {
  const here = loopsByStorage.get(storage) ?? {};
  loopsByStorage.set(storage, here);
  const parts = options.controllers ? (['definitions', 'controllers'] as const) : (['definitions'] as const);
  for (const part of parts) {
    const start = () => (part === 'definitions' ? runDefinitionController(storage) : runControllers(storage, options));
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
