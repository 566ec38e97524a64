/*
 * Distribution packages of Open MPI leave this private header out, and ompi/op/op.h includes it
 * for two macros. Only inline code that this component does not use needs more than their names.
 */
#ifndef GDR_SHIM_FINT_2_INT_H
#define GDR_SHIM_FINT_2_INT_H

#define OMPI_INT_2_FINT(a) ((MPI_Fint)(a))
#define OMPI_FINT_2_INT(a) ((int)(a))

#endif
