/** Whether all steps that make a machine are done. One that is being repaired was made before. */
export const isProvisioned = <P extends { readonly plan: string; readonly finishedAt?: string | undefined }>(
  progress: P | undefined,
): progress is P => progress?.plan === 'mend' || (progress?.plan === 'provision' && progress.finishedAt !== undefined);
