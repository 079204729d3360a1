import { renderBashScript } from './completion/bash-script.ts';
import { buildCompletionModel } from './completion/completion-model.ts';
import { renderFishScript } from './completion/fish-script.ts';
import { renderZshScript } from './completion/zsh-script.ts';
import type { Shell } from './flags/option-values.ts';

const scripts = { bash: renderBashScript, zsh: renderZshScript, fish: renderFishScript } as const;

/** The script that completes commands, flags and their values in a shell. */
export const renderCompletion = (shell: Shell): string => scripts[shell](buildCompletionModel());
