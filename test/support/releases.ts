/** The releases of TrueNAS that the provider works with. */
export const releases = ['25.04.2', '25.10', '26'] as const;
