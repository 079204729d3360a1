import type { RescueProgram } from '../process.ts';

/** The system goes down: sshd closes the channel of the client a moment later. */
const goDown =
  (kind: 'reboot' | 'off'): RescueProgram =>
  async (process) => {
    process.system.goDown(kind);
    await process.sleep(0.5);
    return 0;
  };

export const powerTools: Readonly<Record<string, RescueProgram>> = {
  reboot: goDown('reboot'),
  poweroff: goDown('off'),
};
