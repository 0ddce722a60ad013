/* libclang, opened at run time: its functions as members of a struct. */
#ifndef AF_API_HEADERS_CLANG_H
#define AF_API_HEADERS_CLANG_H

#include <clang-c/Index.h>

struct af_err;

#define AF_CLANG_FUNCTIONS(F)                                                                      \
	F(createIndex)                                                                             \
	F(disposeIndex)                                                                            \
	F(parseTranslationUnit2)                                                                   \
	F(disposeTranslationUnit)                                                                  \
	F(getTranslationUnitCursor)                                                                \
	F(getNumDiagnostics)                                                                       \
	F(getDiagnostic)                                                                           \
	F(getDiagnosticSeverity)                                                                   \
	F(formatDiagnostic)                                                                        \
	F(disposeDiagnostic)                                                                       \
	F(getInclusions)                                                                           \
	F(visitChildren)                                                                           \
	F(Type_visitFields)                                                                        \
	F(getCString)                                                                              \
	F(disposeString)                                                                           \
	F(getCursorKind)                                                                           \
	F(getCursorSpelling)                                                                       \
	F(getCursorLocation)                                                                       \
	F(getCursorType)                                                                           \
	F(getCanonicalCursor)                                                                      \
	F(equalCursors)                                                                            \
	F(isCursorDefinition)                                                                      \
	F(getExpansionLocation)                                                                    \
	F(getFileName)                                                                             \
	F(getFileContents)                                                                         \
	F(Cursor_getNumArguments)                                                                  \
	F(Cursor_getArgument)                                                                      \
	F(Cursor_getStorageClass)                                                                  \
	F(Cursor_isMacroFunctionLike)                                                              \
	F(Cursor_isBitField)                                                                       \
	F(Cursor_getOffsetOfField)                                                                 \
	F(getFieldDeclBitWidth)                                                                    \
	F(Cursor_Evaluate)                                                                         \
	F(EvalResult_getKind)                                                                      \
	F(EvalResult_getAsLongLong)                                                                \
	F(EvalResult_getAsStr)                                                                     \
	F(EvalResult_dispose)                                                                      \
	F(getTypedefDeclUnderlyingType)                                                            \
	F(getTypeDeclaration)                                                                      \
	F(getCanonicalType)                                                                        \
	F(Type_getNamedType)                                                                       \
	F(Type_getModifiedType)                                                                    \
	F(getPointeeType)                                                                          \
	F(getResultType)                                                                           \
	F(getNumArgTypes)                                                                          \
	F(getArgType)                                                                              \
	F(getArrayElementType)                                                                     \
	F(getArraySize)                                                                            \
	F(isConstQualifiedType)                                                                    \
	F(Type_getSizeOf)                                                                          \
	F(Type_getAlignOf)                                                                         \
	F(getEnumDeclIntegerType)                                                                  \
	F(getEnumConstantDeclValue)                                                                \
	F(getEnumConstantDeclUnsignedValue)

struct af_clang {
#define AF_CLANG_MEMBER(name) __typeof__(&clang_##name) name;
	AF_CLANG_FUNCTIONS(AF_CLANG_MEMBER)
#undef AF_CLANG_MEMBER
};

/* Open the newest libclang that there is. It stays open: it cannot be closed well. */
int af_clang_open(struct af_clang *c, struct af_err *err);

#endif
